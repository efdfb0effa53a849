//! Libraries of the vendor that are found at run time: their functions by name, and what becomes of work that one of them is given.
//!
//! Always: a library without one of the functions is as good as none. Never: links to one.

/// What became of work.
pub(crate) enum Answer {
    Queued,
    /// Nothing is queued: the library has no kernel for it, or no memory.
    Refused,
    Failed(String),
}

/// Declares `Functions`, the named functions of a library, and `Functions::of`, which looks them up.
macro_rules! functions {
    ($visible:vis struct; $($name:ident: fn($($argument:ty),*) -> $out:ty;)*) => {
        /// The library's functions.
        #[allow(non_snake_case)]
        $visible struct Functions {
            $($visible $name: unsafe extern "C" fn($($argument),*) -> $out,)*
            _library: libloading::Library,
        }

        impl Functions {
            #[allow(non_snake_case)]
            fn of(library: libloading::Library) -> Option<Functions> {
                $(
                    // SAFETY: the declaration is that of the header.
                    let $name = unsafe { *library.get::<unsafe extern "C" fn($($argument),*) -> $out>(stringify!($name)).ok()? };
                )*
                Some(Functions { $($name,)* _library: library })
            }
        }
    };
}

pub(crate) use functions;
