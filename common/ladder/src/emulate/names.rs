//! Kernels by their names in a source; PTX has mangled names.
use cpp_demangle::{DemangleOptions, Symbol};
use emulator::Ptx;

use super::device_code::{KernelDeclaration, base_name};

/// A kernel in a PTX text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelName {
    /// The name in the PTX.
    pub entry: String,
    /// The name in the source, with template arguments: `ours::reduce<float, 256>`.
    pub name: String,
    /// The types of its parameters, if the mangled name has them.
    pub types: Option<Vec<String>>,
}

impl KernelName {
    pub fn of(entry: &str) -> Self {
        let plain = |options: DemangleOptions| {
            let symbol = Symbol::new(entry).ok()?;
            symbol.demangle_with_options(&options).ok()
        };
        let short = plain(DemangleOptions::new().no_return_type().no_params());
        let full = plain(DemangleOptions::new().no_return_type());
        let types = short.as_ref().zip(full).and_then(|(short, full)| {
            let list = full
                .strip_prefix(short.as_str())?
                .strip_prefix('(')?
                .strip_suffix(')')?;
            Some(split(list))
        });
        Self {
            entry: entry.to_owned(),
            name: short.unwrap_or_else(|| entry.to_owned()),
            types,
        }
    }

    /// The name for messages.
    pub fn shown(&self) -> String {
        match &self.types {
            Some(types) => format!("{}({})", self.name, types.join(", ")),
            None => self.name.clone(),
        }
    }

    /// Whether a user's name matches: with or without namespaces, template arguments, parameters.
    fn is_called(&self, wanted: &str) -> bool {
        let squeezed = |text: &str| text.split_whitespace().collect::<String>();
        let wanted = squeezed(wanted);
        let names = [squeezed(&self.shown()), squeezed(&self.name)];
        let inner = |name: &str| {
            // `a::k<b::c>` ends with `k<b::c>`.
            name.strip_suffix(wanted.as_str())
                .is_some_and(|rest| rest.ends_with("::"))
        };
        self.entry == wanted
            || names.iter().any(|name| *name == wanted || inner(name))
            || !wanted.contains(['<', '('])
                && !wanted.contains("::")
                && base_name(&self.name) == wanted
    }
}

/// The parts of a list, whose items may contain commas in brackets.
pub fn split(list: &str) -> Vec<String> {
    let (mut parts, mut depth) = (vec![String::new()], 0i32);
    for c in list.chars() {
        match c {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' | ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(part) = parts.last_mut() {
            part.push(c);
        }
    }
    let parts = parts.into_iter().map(|part| part.trim().to_owned());
    parts
        .filter(|part| !part.is_empty() && part != "void")
        .collect()
}

/// The kernel of a PTX text that the user means.
///
/// # Errors
/// The candidates, if none or several match.
pub fn choose(
    ptx: &Ptx,
    wanted: Option<&str>,
    declared: &[KernelDeclaration],
) -> Result<KernelName, String> {
    let all: Vec<KernelName> = ptx.kernels().map(KernelName::of).collect();
    let list = |kernels: &[KernelName]| -> String {
        kernels
            .iter()
            .map(|kernel| format!("\n  --kernel '{}'", kernel.shown()))
            .collect()
    };
    let templates = |name: Option<&str>| -> Vec<&KernelDeclaration> {
        let is_it =
            |one: &&KernelDeclaration| one.template && name.is_none_or(|name| one.name == name);
        declared.iter().filter(is_it).collect()
    };
    let Some(wanted) = wanted else {
        return match (&all[..], &templates(None)[..]) {
            ([only], _) => Ok(only.clone()),
            ([], []) => {
                Err("there is no kernel in this file: write __global__ before a function".into())
            }
            ([], templates) => Err(instances(templates)),
            _ => Err(format!(
                "there are several kernels; choose one:{}",
                list(&all)
            )),
        };
    };
    let mut found = all.iter().filter(|kernel| kernel.is_called(wanted));
    match (
        found.next(),
        found.next(),
        &templates(Some(base_name(wanted)))[..],
    ) {
        (Some(one), None, _) => Ok(one.clone()),
        (Some(_), Some(_), _) => {
            let these: Vec<KernelName> = all
                .iter()
                .filter(|kernel| kernel.is_called(wanted))
                .cloned()
                .collect();
            Err(format!(
                "several kernels are called {wanted}; choose one:{}",
                list(&these)
            ))
        }
        (None, _, [template, ..]) => Err(instances(&[*template])),
        (None, _, []) if all.is_empty() => {
            Err(format!("there is no kernel {wanted}, and no other one"))
        }
        (None, _, []) => Err(format!(
            "there is no kernel {wanted}; there are:{}",
            list(&all)
        )),
    }
}

/// The message about templates without an instance.
fn instances(templates: &[&KernelDeclaration]) -> String {
    let names: Vec<&str> = templates.iter().map(|one| one.name.as_str()).collect();
    let first = names.first().copied().unwrap_or_default();
    format!(
        "{} {} of which an instance has to be named, with all its template arguments: --kernel '{first}<float, 256>'",
        names.join(", "),
        if names.len() == 1 {
            "is a template,"
        } else {
            "are templates,"
        }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = ".version 8.0\n.target sm_80\n.entry plain() { ret; }\n.entry _Z1kPfi() { ret; }\n.entry _Z1kPdi() { ret; }\n\
        .entry _ZN4ours4fillIfLi4EEEvPT_() { ret; }\n.entry _Z3addPKfS0_Pf() { ret; }\n.entry _ZBAD() { ret; }";

    fn chosen(wanted: Option<&str>) -> Result<String, String> {
        let ptx = Ptx::parse(PTX).expect("PTX");
        let template = KernelDeclaration {
            name: "reduce".into(),
            template: true,
            parameters: "(T *x)".into(),
        };
        choose(&ptx, wanted, &[template]).map(|kernel| kernel.entry)
    }

    #[test]
    fn a_kernel_is_called_as_in_the_source() {
        for (wanted, entry) in [
            ("plain", "plain"),
            ("add", "_Z3addPKfS0_Pf"),
            ("_Z3addPKfS0_Pf", "_Z3addPKfS0_Pf"),
            ("k(float*, int)", "_Z1kPfi"),
            ("k(double *,int)", "_Z1kPdi"),
            ("ours::fill<float,4>", "_ZN4ours4fillIfLi4EEEvPT_"),
            ("fill<float, 4>", "_ZN4ours4fillIfLi4EEEvPT_"),
            ("fill", "_ZN4ours4fillIfLi4EEEvPT_"),
            ("_ZBAD", "_ZBAD"),
        ] {
            assert_eq!(chosen(Some(wanted)), Ok(entry.to_owned()), "{wanted}");
        }
    }

    #[test]
    fn the_others_are_listed() {
        let error = |wanted| chosen(wanted).expect_err("no kernel");
        assert!(error(None).contains(
            "several kernels; choose one:\n  --kernel 'plain'\n  --kernel 'k(float*, int)'"
        ));
        assert!(error(Some("k")).starts_with("several kernels are called k; choose one:\n  --kernel 'k(float*, int)'\n  --kernel 'k(double*, int)'"));
        assert!(
            error(Some("nosuch"))
                .starts_with("there is no kernel nosuch; there are:\n  --kernel 'plain'")
        );
        assert!(error(Some("fill<float, 5>")).contains("there is no kernel"));
        assert!(
            error(Some("reduce"))
                .contains("reduce is a template, of which an instance has to be named")
        );
        let kernel = KernelName::of("_Z3addPKfS0_Pf");
        assert_eq!(
            kernel.types,
            Some(vec![
                "float const*".into(),
                "float const*".into(),
                "float*".into()
            ])
        );
        assert_eq!(
            split("std::pair<int, float> a, int (*f)(int, int), void"),
            ["std::pair<int, float> a", "int (*f)(int, int)"]
        );
    }
}
