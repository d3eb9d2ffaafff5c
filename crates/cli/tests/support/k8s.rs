//! Rendered objects of a cluster: read, found, and their containers as processes of this machine.

use super::{Place, Said, finish};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// `tools/setup test` installs it.
fn python() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/kubernetes-validate/bin/python")
}

/// Runs Python with what reads YAML and knows the schemas.
pub(crate) fn asked_of_python(place: &Place, args: &[&str]) -> Said {
    let python = python();
    assert!(python.is_file(), "there is no {}: run tools/setup test", python.display());
    finish(Command::new(python).args(args).current_dir(place.path()).stdin(Stdio::null()))
}

/// What is rendered, read by another reader of YAML.
pub(crate) fn objects(place: &Place, text: &str) -> Vec<Value> {
    place.file("all.yaml", text);
    let read =
        "import json, yaml; print(json.dumps([one for one in yaml.safe_load_all(open('all.yaml')) if one]))";
    let said = asked_of_python(place, &["-c", read]);
    serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"))
}

pub(crate) fn named<'a>(objects: &'a [Value], kind: &str, name: &str) -> &'a Value {
    let found = objects.iter().find(|one| one["kind"] == kind && one["metadata"]["name"] == name);
    found.unwrap_or_else(|| panic!("there is no {kind} {name}"))
}

pub(crate) fn spec(job: &Value) -> &Value {
    &job["spec"]["template"]["spec"]
}

/// One container of a rendered object, as a process of this machine: its variables, and the folders that are mounted.
pub(crate) struct Container<'a> {
    pub(crate) all: &'a [Value],
    pub(crate) spec: &'a Value,
    pub(crate) name: &'a str,
    pub(crate) dir: PathBuf,
}

impl Container<'_> {
    pub(crate) fn variables(&self) -> BTreeMap<String, String> {
        let value = |env: &Value| match (&env["value"], &env["valueFrom"]["secretKeyRef"]) {
            (Value::String(value), _) => value.clone(),
            (_, Value::Null) => self.name.to_string(),
            (_, of) => {
                let secret = named(self.all, "Secret", of["name"].as_str().expect("a name"));
                secret["stringData"][of["key"].as_str().expect("a key")].as_str().expect("a text").to_string()
            }
        };
        let all = self.spec["containers"][0]["env"].as_array().expect("a list");
        all.iter().map(|env| (env["name"].as_str().expect("a name").to_string(), value(env))).collect()
    }

    /// Writes what is mounted. Gives where it is mounted, and where it is.
    pub(crate) fn mounts(&self) -> Vec<(String, PathBuf)> {
        let text = |value: &Value| value.as_str().expect("a text").to_string();
        let of = |mount: &Value| {
            let volumes = self.spec["volumes"].as_array().expect("a list");
            let volume = volumes.iter().find(|volume| volume["name"] == mount["name"]).expect("a volume");
            let dir = self.dir.join(text(&mount["name"]));
            std::fs::create_dir_all(&dir).expect("a folder");
            let (source, data, name) = match (&volume["secret"], &volume["configMap"]) {
                (Value::Null, Value::Null) => return (text(&mount["mountPath"]), dir),
                (Value::Null, map) => (map, "data", named(self.all, "ConfigMap", &text(&map["name"]))),
                (secret, _) => {
                    (secret, "stringData", named(self.all, "Secret", &text(&secret["secretName"])))
                }
            };
            for (key, content) in name[data].as_object().expect("an object") {
                let items = source["items"].as_array().into_iter().flatten();
                let path = items.clone().find(|item| item["key"] == **key).map(|item| text(&item["path"]));
                if let Some(path) = path.or(source["items"].is_null().then(|| key.clone())) {
                    let file = dir.join(path);
                    std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
                    std::fs::write(file, text(content)).expect("a file");
                }
            }
            (text(&mount["mountPath"]), dir)
        };
        self.spec["containers"][0]["volumeMounts"].as_array().expect("a list").iter().map(of).collect()
    }

    /// The binary, with the bus on this port.
    pub(crate) fn command(&self, place: &Place, port: u16) -> Command {
        let (variables, mounts) = (self.variables(), self.mounts());
        let here = |word: &str| {
            let own = mounts.iter().find_map(|(at, dir)| {
                let rest =
                    word.strip_prefix(at.as_str()).filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
                Some(format!("{}{rest}", dir.display()))
            });
            own.unwrap_or_else(|| word.to_string())
        };
        let filled = |word: &str| {
            let mut word = word.replace("unblink-bus:4222", &format!("127.0.0.1:{port}"));
            variables.iter().for_each(|(name, value)| word = word.replace(&format!("$({name})"), value));
            here(&word.replace("$$", "$"))
        };
        let container = &self.spec["containers"][0];
        let args = container["args"].as_array().expect("a list");
        let args: Vec<String> = args.iter().map(|arg| filled(arg.as_str().expect("a text"))).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let mut command = place.command(&args);
        let of_env = variables.iter().map(|(name, value)| (name, here(value)));
        command.envs(of_env).current_dir(here(container["workingDir"].as_str().expect("a folder")));
        command
    }
}
