//! Owns the tests of logs in files: rotated, cut, followed by the next run's, gone, and what is none.
//! It must not need a runtime: a step is a call.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use super::follow::Follower;
use crate::container_log::{Instance, LogLine, LogOrigin, LogUpdate, OlderLines};
use crate::observe::discover::LogDirs;
use crate::observe::tests::Temp;

const DIR: &str = "var/log/pods/ns_web_u/app";

fn cri(second: u32, text: &str) -> String {
    format!("2026-03-02T09:{:02}:{:02}Z stdout F {text}\n", second / 60, second % 60)
}

fn begin(temp: &Temp, instance: Instance) -> io::Result<(Follower, Vec<LogUpdate>)> {
    let told = Path::new("/").join(DIR);
    Follower::begin(&temp.path(DIR), &told, &LogDirs::default().bounds(&temp.root()), instance)
}

fn append(temp: &Temp, file: &str, text: &str) {
    let path = temp.path(&format!("{DIR}/{file}"));
    let mut file = fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

fn gz(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// The texts of the lines, and what else is told in angle brackets.
fn told(news: Vec<LogUpdate>) -> Vec<String> {
    let texts = |lines: Vec<LogLine>| lines.into_iter().map(|l| l.text.to_string()).collect::<Vec<_>>();
    news.into_iter()
        .flat_map(|news| match news {
            LogUpdate::Lines(lines) => texts(lines),
            LogUpdate::Older { lines, remaining } => {
                [vec![format!("<older, rest {remaining:?}>")], texts(lines)].concat()
            }
            LogUpdate::Opened { origin: LogOrigin::File(path), restart, has_older } => {
                vec![format!("<{path} {restart:?} {has_older}>")]
            }
            LogUpdate::Restarted { restart, .. } => vec![format!("<restarted {restart:?}>")],
            LogUpdate::Notice(text) => vec![format!("<{text}>")],
            LogUpdate::Closed(text) => vec![format!("<over: {text}>")],
            LogUpdate::Skipped { .. } => vec!["<skipped>".into()],
            LogUpdate::CaughtUp => Vec::new(),
            other => vec![format!("{other:?}")],
        })
        .collect()
}

#[test]
fn the_last_lines_then_what_is_written() {
    let temp = Temp::new();
    temp.write(&format!("{DIR}/2.log"), cri(0, "of before"));
    temp.write(&format!("{DIR}/3.log"), cri(1, "a") + "2026-03-02T09:00:02Z stdout P b\n2026-03-02T09:00:02Z stdo");
    let (mut follower, news) = begin(&temp, Instance::Current).unwrap();
    assert_eq!(told(news), ["</var/log/pods/ns_web_u/app/3.log Some(3) false>", "a"]);
    assert!(follower.step().is_empty());
    append(&temp, "3.log", "ut F  and c\n");
    assert_eq!(told(follower.step()), ["b and c"], "cut within a line, and within its pieces");
    append(&temp, "3.log", "2026-03-02T09:00:04Z stdout P $ \n");
    assert!(follower.step().is_empty() && follower.step().is_empty());
    assert_eq!(told(follower.step()), ["$ "], "what waits for input is shown all the same");
    let (_, news) = begin(&temp, Instance::Previous).unwrap();
    assert_eq!(told(news), ["</var/log/pods/ns_web_u/app/2.log Some(2) false>", "of before"]);
    fs::remove_file(temp.path(&format!("{DIR}/2.log"))).unwrap();
    assert_eq!(begin(&temp, Instance::Previous).unwrap_err().kind(), io::ErrorKind::NotFound);
}

#[test]
fn rotation_truncation_restart_and_the_end_of_the_pod() {
    let temp = Temp::new();
    temp.write(&format!("{DIR}/0.log"), cri(1, "a"));
    let (mut follower, _) = begin(&temp, Instance::Current).unwrap();
    append(&temp, "0.log", &cri(2, "last of the old file"));
    let path = |name: &str| temp.path(&format!("{DIR}/{name}"));
    fs::rename(path("0.log"), path("0.log.20260302-090003")).unwrap();
    assert_eq!(told(follower.step()), ["last of the old file"], "between renaming and the new file");
    append(&temp, "0.log.20260302-090003", &cri(3, "still to the old file"));
    append(&temp, "0.log", &cri(4, "new file"));
    assert_eq!(told(follower.step()), ["still to the old file", "new file"]);
    fs::OpenOptions::new().write(true).open(path("0.log")).unwrap().set_len(0).unwrap();
    assert_eq!(told(follower.step()), ["<the file was cut; what follows is read from its begin>"]);
    append(&temp, "0.log", &cri(5, "after"));
    assert_eq!(told(follower.step()), ["after"]);
    append(&temp, "0.log", "2026-03-02T09:00:06Z stderr P panic");
    append(&temp, "1.log", &cri(7, "next run"));
    assert_eq!(told(follower.step()), ["panic", "<restarted Some(1)>", "next run"]);
    append(&temp, "1.log", &cri(8, "bye"));
    fs::remove_dir_all(temp.path(DIR)).unwrap();
    assert_eq!(told(follower.step()), ["bye", "<over: the directory of its logs is gone, and the container with it>"]);
    assert!(follower.step().is_empty());
}

#[test]
fn older_lines_across_rotated_files() {
    let temp = Temp::new();
    let lines = |from: u32, count: u32| {
        (from..from + count).map(|i| cri(i % 3000, &format!("{i} {}", "x".repeat(80)))).collect::<String>()
    };
    temp.write(&format!("{DIR}/0.log.20260301-000000.gz"), gz(&lines(0, 3000)));
    temp.write(&format!("{DIR}/0.log.20260302-000000"), lines(3000, 3000));
    temp.write(&format!("{DIR}/0.log"), lines(6000, 10));
    temp.write(&format!("{DIR}/0.log.tmp"), "2026-03-02T09:00:00Z stdout F none of it\n");
    let (mut follower, news) = begin(&temp, Instance::Current).unwrap();
    let mut all: Vec<String> = told(news).split_off(1);
    assert!(all.len() > 200, "what was just rotated away is shown at first: {}", all.len());
    let mut chunks = 0;
    // While it is read, the kubelet packs a file.
    let path = |name: &str| temp.path(&format!("{DIR}/{name}"));
    fs::remove_file(path("0.log.20260302-000000")).unwrap();
    temp.write(&format!("{DIR}/0.log.20260302-000000.gz"), gz(&lines(3000, 3000)));
    loop {
        let Some(LogUpdate::Older { lines, remaining }) = follower.older().pop() else { panic!("not older") };
        all.splice(0..0, lines.into_iter().map(|l| l.text.to_string()));
        chunks += 1;
        if remaining != OlderLines::Available {
            assert_eq!(remaining, OlderLines::None);
            break;
        }
    }
    assert!(chunks > 2, "{chunks}");
    let numbers: Vec<u32> = all.iter().map(|l| l.split(' ').next().unwrap().parse().unwrap()).collect();
    assert_eq!(numbers, (0..6010).collect::<Vec<_>>(), "each once, in order");
    assert_eq!(told(follower.older()), ["<older, rest None>"]);
}

#[test]
fn of_a_packed_file_that_is_too_long_the_end_is_told_and_that_there_was_more() {
    let temp = Temp::new();
    let long: String = (0..30_000).map(|i| cri(i % 3000, &format!("{i} {}", "x".repeat(300)))).collect();
    assert!(long.len() > 9 << 20);
    temp.write(&format!("{DIR}/0.log.20260228-000000"), cri(0, "behind the hole"));
    temp.write(&format!("{DIR}/0.log.20260301-000000.gz"), gz(&long));
    temp.write(&format!("{DIR}/0.log"), cri(1, "now"));
    let (mut follower, news) = begin(&temp, Instance::Current).unwrap();
    let mut all: Vec<String> = told(news).split_off(1);
    loop {
        let Some(LogUpdate::Older { lines, remaining }) = follower.older().pop() else { panic!("not older") };
        all.splice(0..0, lines.into_iter().map(|l| l.text.to_string()));
        match remaining {
            OlderLines::Available => {}
            OlderLines::Omitted => break,
            OlderLines::None => panic!("its begin was left out"),
        }
    }
    let numbers: Vec<u32> = all.iter().filter_map(|l| l.split(' ').next()?.parse().ok()).collect();
    assert_eq!(numbers, (30_000 - numbers.len() as u32..30_000).collect::<Vec<_>>(), "no half line, no hole");
    assert_eq!(numbers.len() + 1, all.len());
    assert!(told(follower.older()) == ["<older, rest Omitted>"]);
}

#[test]
fn a_line_that_fills_a_chunk_is_not_lost() {
    let temp = Temp::new();
    temp.write(&format!("{DIR}/0.log"), cri(0, "a") + &"x".repeat(400 << 10) + "\n");
    let (_, news) = begin(&temp, Instance::Current).unwrap();
    let lines = told(news).split_off(1);
    assert!(lines[0] == "a" && lines[1..].iter().all(|l| l.starts_with("xxx")) && lines.len() > 1, "{}", lines.len());
}

#[test]
fn what_comes_too_fast_is_left_out_and_it_is_said() {
    let temp = Temp::new();
    temp.write(&format!("{DIR}/0.log"), "");
    let (mut follower, _) = begin(&temp, Instance::Current).unwrap();
    let flood: String = (0..100_000).map(|i| cri(i % 3000, &format!("{i} {}", "y".repeat(60)))).collect();
    append(&temp, "0.log", &flood);
    let news = told(follower.step());
    assert_eq!(news[0], "<skipped>");
    assert!(news[1].ends_with(&"y".repeat(60)) && news.last().unwrap().starts_with("99999 "));
    assert!(follower.step().is_empty());
}

#[test]
fn no_file_that_lies_elsewhere_and_none_that_is_no_file() {
    let temp = Temp::new();
    let link = |to: &str, at: &str| std::os::unix::fs::symlink(Path::new("/").join(to), temp.path(at)).unwrap();
    temp.write("etc/shadow", "hunter2");
    temp.write(
        "var/lib/docker/containers/x/x-json.log",
        r#"{"log":"of docker\n","stream":"stderr","time":"2026-03-02T09:00:00Z"}"#.to_owned() + "\n",
    );
    temp.write(
        "var/lib/docker/containers/x/x-json.log.1",
        r#"{"log":"before\n","stream":"stdout","time":"2026-03-02T08:00:00Z"}"#.to_owned() + "\n",
    );
    fs::create_dir_all(temp.path(DIR)).unwrap();
    link("etc/shadow", &format!("{DIR}/0.log"));
    assert_eq!(begin(&temp, Instance::Current).unwrap_err().kind(), io::ErrorKind::NotFound);
    link("var/lib/docker/containers/x/x-json.log", &format!("{DIR}/1.log"));
    let (mut follower, news) = begin(&temp, Instance::Current).unwrap();
    assert_eq!(told(news), ["</var/log/pods/ns_web_u/app/1.log Some(1) false>", "before", "of docker"]);
    link("etc/shadow", &format!("{DIR}/2.log"));
    assert!(told(follower.step()).is_empty(), "a next run that is none");
    let pipe = temp.path(&format!("{DIR}/3.log"));
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert!(told(follower.step()).is_empty());
    assert!(begin(&temp, Instance::Current).is_err());
}
