//! The text form's words.

use unigrad_scalar::ParseError;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// Letters, digits and `_`, beginning with a letter.
    Word(String),
    /// `%name`, without the sign.
    Value(String),
    /// Digits, perhaps with a fraction and an exponent, or `0x…`; without a sign.
    Number(String),
    /// In quotes, escapes resolved.
    Quoted(String),
    Sign(char),
    End,
}

impl Token {
    /// For messages; long ones in part.
    pub(super) fn show(&self) -> String {
        let short = |text: &str| text.chars().take(40).collect::<String>();
        match self {
            Token::Word(word) | Token::Number(word) => format!("`{}`", short(word)),
            Token::Value(name) => format!("`%{}`", short(name)),
            Token::Quoted(text) => format!("{:?}", short(text)),
            Token::Sign(sign) => format!("`{sign}`"),
            Token::End => "the end".to_owned(),
        }
    }
}

/// Gives the words of a text one by one.
pub(super) struct Lexer<'t> {
    rest: &'t str,
    line: usize,
    column: usize,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Lexer<'t> {
        Lexer { rest: text, line: 1, column: 1 }
    }

    /// The next word, and where it begins.
    pub(super) fn next(&mut self) -> Result<(Token, (usize, usize)), ParseError> {
        self.skip_blanks();
        let at = (self.line, self.column);
        let Some(first) = self.rest.chars().next() else { return Ok((Token::End, at)) };
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let token = if first == '"' {
            Token::Quoted(self.quoted()?)
        } else if first == '%' {
            self.take(1);
            let name = self.take_while(is_word);
            if name.is_empty() {
                return Err(ParseError::new(at, "`%` without a name", "name the value, as `%0`"));
            }
            Token::Value(name.to_owned())
        } else if first.is_ascii_alphabetic() || first == '_' {
            Token::Word(self.take_while(is_word).to_owned())
        } else if first.is_ascii_digit() {
            Token::Number(self.number().to_owned())
        } else if "[]{}:,=*+-".contains(first) {
            self.take(1);
            Token::Sign(first)
        } else {
            return Err(ParseError::new(at, format!("{first:?} means nothing here"), "see the text of a region that was printed"));
        };
        Ok((token, at))
    }

    /// Passes bytes that are whole characters.
    fn take(&mut self, bytes: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        for c in taken.chars() {
            (self.line, self.column) = if c == '\n' { (self.line + 1, 1) } else { (self.line, self.column + 1) };
        }
        taken
    }

    fn take_while(&mut self, is: impl Fn(char) -> bool) -> &'t str {
        let end = self.rest.find(|c| !is(c)).unwrap_or(self.rest.len());
        self.take(end)
    }

    fn skip_blanks(&mut self) {
        loop {
            let blanks = self.take_while(char::is_whitespace).len();
            let comment = if self.rest.starts_with(';') { self.take_while(|c| c != '\n').len() } else { 0 };
            if blanks + comment == 0 {
                return;
            }
        }
    }

    fn number(&mut self) -> &'t str {
        let text = self.rest;
        let digits = |at: usize| text[at..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |n| at + n);
        let mut end = digits(0);
        if text[..end] == *"0" && text[end..].starts_with('x') {
            end = text[end..].find(|c: char| !c.is_ascii_alphanumeric()).map_or(text.len(), |n| end + n);
            return self.take(end);
        }
        if text[end..].starts_with('.') && text[end + 1..].starts_with(|c: char| c.is_ascii_digit()) {
            end = digits(end + 1);
        }
        if text[end..].starts_with('e') {
            let sign = usize::from(text[end + 1..].starts_with(['-', '+']));
            if text[end + 1 + sign..].starts_with(|c: char| c.is_ascii_digit()) {
                end = digits(end + 1 + sign);
            }
        }
        self.take(end)
    }

    /// A text in quotes, as `{:?}` writes it.
    fn quoted(&mut self) -> Result<String, ParseError> {
        let begin = (self.line, self.column);
        let open = || {
            ParseError::new(
                begin,
                "a text in quotes has no end, or an escape that is none",
                "close it with `\"`; write a backslash as `\\\\`",
            )
        };
        let mut text = String::new();
        self.take(1);
        loop {
            let plain = self.take_while(|c| c != '"' && c != '\\');
            text.push_str(plain);
            if self.rest.starts_with('"') {
                self.take(1);
                return Ok(text);
            }
            let mut escape = self.rest.chars().skip(1);
            let Some(c) = escape.next() else { return Err(open()) };
            self.take(1 + c.len_utf8());
            text.push(match c {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                '0' => '\0',
                '\\' | '"' | '\'' => c,
                'u' => {
                    let digits = self.rest.strip_prefix('{').and_then(|rest| rest.split_once('}')).map(|(digits, _)| digits);
                    let digits = digits.filter(|digits| digits.len() <= 6).ok_or_else(open)?;
                    let code = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32).ok_or_else(open)?;
                    self.take(digits.len() + 2);
                    code
                }
                _ => return Err(open()),
            });
        }
    }
}
