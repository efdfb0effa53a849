//! `#[derive(Module)]`: the parameter tree of a plain struct.
//!
//! In: a struct with named fields, or a tuple struct. Out: `visit` and `visit_mut`, which go through the fields in order under their
//! own names, so that paths equal those of PyTorch's `state_dict`.
//! Always: a field of a plain type (numbers, `bool`, `String`) is left out; `#[module(skip)]` leaves any other out, `#[module(buffer)]`
//! marks a tensor that is saved and not trained, `#[module(name = "...")]` gives another name.
//! Never: guesses; a field whose type is no module is a compile error that names the type.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Field, Fields, Ident, Index, LitStr, Member, Path, Type};

/// Writes the parameter tree of a struct.
#[proc_macro_derive(Module, attributes(module))]
pub fn derive_module(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    expand(&input).unwrap_or_else(Error::into_compile_error).into()
}

#[derive(Default)]
struct FieldOptions {
    skip: bool,
    buffer: bool,
    name: Option<String>,
}

struct StructOptions {
    /// Where `Module` and friends are found.
    root: TokenStream,
    /// A function to call when the mode changes between training and evaluation.
    on_mode: Option<Ident>,
}

fn expand(input: &DeriveInput) -> Result<TokenStream, Error> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new_spanned(&input.ident, "a module is a struct: put an enum's variants in structs of their own"));
    };
    let options = struct_options(input)?;
    let root = &options.root;
    let (mut by_ref, mut by_mut) = (Vec::new(), Vec::new());
    for (position, field) in data.fields.iter().enumerate() {
        let own = field_options(field)?;
        if own.skip || is_plain(&field.ty) {
            continue;
        }
        let member = match &field.ident {
            Some(ident) => Member::Named(ident.clone()),
            None => Member::Unnamed(Index::from(position)),
        };
        let name = own.name.unwrap_or_else(|| match &field.ident {
            Some(ident) => ident.to_string().trim_start_matches("r#").to_owned(),
            None => position.to_string(),
        });
        if own.buffer {
            by_ref.push(quote! { #root::Part::visit_buffer(&self.#member, #name, visitor); });
            by_mut.push(quote! { #root::Part::visit_buffer_mut(&mut self.#member, #name, visitor); });
        } else {
            by_ref.push(quote! { #root::Part::visit_part(&self.#member, #name, visitor); });
            by_mut.push(quote! { #root::Part::visit_part_mut(&mut self.#member, #name, visitor); });
        }
    }
    let on_mode = options.on_mode.map(|function| {
        quote! { fn on_mode(&mut self, training: bool) { self.#function(training); } }
    });
    let unused = matches!(data.fields, Fields::Unit) || by_ref.is_empty();
    let allow = unused.then(|| quote! { let _ = visitor; });
    let (ident, (generics, arguments, bounds)) = (&input.ident, input.generics.split_for_impl());
    Ok(quote! {
        #[automatically_derived]
        impl #generics #root::Module for #ident #arguments #bounds {
            fn visit<'module>(&'module self, visitor: &mut dyn #root::Visitor<'module>) { #allow #(#by_ref)* }
            fn visit_mut(&mut self, visitor: &mut dyn #root::VisitorMut) { #allow #(#by_mut)* }
            fn as_any(&self) -> ::core::option::Option<&dyn ::core::any::Any> { ::core::option::Option::Some(self) }
            fn as_any_mut(&mut self) -> ::core::option::Option<&mut dyn ::core::any::Any> { ::core::option::Option::Some(self) }
            #on_mode
        }
    })
}

fn struct_options(input: &DeriveInput) -> Result<StructOptions, Error> {
    let mut options = StructOptions { root: quote! { ::unigrad::nn }, on_mode: None };
    for attribute in input.attrs.iter().filter(|a| a.path().is_ident("module")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("crate") {
                let path: LitStr = meta.value()?.parse()?;
                let path: Path = path.parse()?;
                options.root = quote! { #path };
            } else if meta.path.is_ident("on_mode") {
                options.on_mode = Some(meta.value()?.parse::<LitStr>()?.parse()?);
            } else {
                return Err(meta.error("known here: `crate = \"path\"`, `on_mode = \"function\"`"));
            }
            Ok(())
        })?;
    }
    Ok(options)
}

fn field_options(field: &Field) -> Result<FieldOptions, Error> {
    let mut options = FieldOptions::default();
    for attribute in field.attrs.iter().filter(|a| a.path().is_ident("module")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("skip") {
                options.skip = true;
            } else if meta.path.is_ident("buffer") {
                options.buffer = true;
            } else if meta.path.is_ident("name") {
                options.name = Some(meta.value()?.parse::<LitStr>()?.value());
            } else {
                return Err(meta.error("known here: `skip`, `buffer`, `name = \"...\"`"));
            }
            Ok(())
        })?;
    }
    Ok(options)
}

/// Whether the type cannot hold a tensor: numbers, truth values and strings need no `#[module(skip)]`.
fn is_plain(ty: &Type) -> bool {
    const PLAIN: [&str; 18] = [
        "bool",
        "char",
        "u8",
        "u16",
        "u32",
        "u64",
        "u128",
        "usize",
        "i8",
        "i16",
        "i32",
        "i64",
        "i128",
        "isize",
        "f32",
        "f64",
        "String",
        "PhantomData",
    ];
    match ty {
        // As macros pass types on.
        Type::Group(group) => is_plain(&group.elem),
        Type::Paren(paren) => is_plain(&paren.elem),
        Type::Path(path) => path.path.segments.last().is_some_and(|last| {
            let inner = || match &last.arguments {
                syn::PathArguments::AngleBracketed(list) => list.args.iter().all(|argument| match argument {
                    syn::GenericArgument::Type(inner) => is_plain(inner),
                    _ => true,
                }),
                _ => false,
            };
            PLAIN.iter().any(|plain| last.ident == plain)
                || (matches!(last.ident.to_string().as_str(), "Option" | "Vec" | "BTreeMap" | "HashMap") && inner())
        }),
        Type::Array(array) => is_plain(&array.elem),
        Type::Tuple(tuple) => tuple.elems.iter().all(is_plain),
        _ => false,
    }
}
