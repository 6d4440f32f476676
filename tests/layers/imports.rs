//! Which module of the crate uses which, and the circles among them.

use std::collections::{BTreeMap, BTreeSet};

use super::code::{CodePath, SourceFile, paths};

type Module = Vec<String>;

/// The modules and what their paths name.
pub struct Imports {
    paths: BTreeMap<Module, Vec<CodePath>>,
}

impl Imports {
    pub fn new(files: &[SourceFile]) -> Self {
        let in_crate = files.iter().filter(|file| !file.code.is_empty());
        Self { paths: in_crate.map(|file| (file.module.clone(), paths(&file.code))).collect() }
    }

    /// Groups of modules that use each other, each as their sorted names in one line. A module's use of those above it is
    /// not counted: their items belong to all their children.
    pub fn circles(&self) -> BTreeSet<String> {
        let graph: BTreeMap<&Module, BTreeSet<Module>> =
            self.paths.keys().map(|module| (module, self.used_by(module))).collect();
        let reached: BTreeMap<&Module, BTreeSet<&Module>> =
            graph.keys().map(|module| (*module, reachable(&graph, module))).collect();
        let mut circles = BTreeSet::new();
        for (module, all) in &reached {
            let mut circle: Vec<String> =
                all.iter().filter(|other| reached[*other].contains(*module)).map(|m| m.join("::")).collect();
            if circle.len() > 1 {
                circle.sort();
                circles.insert(circle.join(" "));
            }
        }
        circles
    }

    /// The modules that a module uses, those above it and its own re-exports aside.
    pub fn used_by(&self, module: &Module) -> BTreeSet<Module> {
        let paths = self.paths.get(module).into_iter().flatten();
        let found = paths.filter_map(|path| {
            let is_relative = path.segments.first().is_some_and(|first| is_child(self, module, first));
            let target = self.absolute(module, path).and_then(|path| self.defining_module(&path, 8));
            target.filter(|_| !(path.is_use && is_relative))
        });
        found.filter(|target| target != module && !module.starts_with(target)).collect()
    }

    /// The path from the root of the crate; None outside of the crate.
    fn absolute(&self, module: &Module, path: &CodePath) -> Option<Vec<String>> {
        let (first, rest) = path.segments.split_first()?;
        let supers = rest.iter().take_while(|s| *s == "super").count();
        let base = match first.as_str() {
            "crate" => &[][..],
            "self" => &module[..],
            "super" => &module[..module.len().checked_sub(1 + supers)?],
            _ if is_child(self, module, first) => return Some([module, &path.segments[..]].concat()),
            _ => return None,
        };
        Some([base, &rest[if first == "super" { supers } else { 0 }..]].concat())
    }

    /// The module that defines what the path names: a name that a module imports is defined where it is imported from.
    fn defining_module(&self, path: &[String], most: usize) -> Option<Module> {
        let module = (1..=path.len()).rev().map(|n| path[..n].to_vec()).find(|m| self.paths.contains_key(m))?;
        let Some(item) = path.get(module.len()).filter(|_| most > 0) else { return Some(module) };
        let import = self.paths[&module]
            .iter()
            .filter(|p| p.is_use)
            .find(|p| p.alias.as_ref().or(p.segments.last()) == Some(item));
        let imported = import.and_then(|import| self.absolute(&module, import));
        imported.and_then(|path| self.defining_module(&path, most - 1)).or(Some(module))
    }
}

fn is_child(imports: &Imports, module: &Module, name: &str) -> bool {
    imports.paths.contains_key(&[&module[..], &[name.to_owned()]].concat())
}

fn reachable<'a>(graph: &'a BTreeMap<&Module, BTreeSet<Module>>, from: &'a Module) -> BTreeSet<&'a Module> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        if seen.insert(module) {
            open.extend(graph.get(module).into_iter().flatten());
        }
    }
    seen
}
