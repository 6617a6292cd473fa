//! The adapter of rdkafka, as the README of the suite describes adapters.
mod admin;
mod groups;
mod member;
mod records;
mod wire;

use std::io::{BufRead, Write};

use serde_json::{Value, json};

use wire::{Answer, Failed};

struct Adapter {
    bootstrap: String,
    member: Option<member::Member>,
}

impl Adapter {
    fn answer(&mut self, command: &Value) -> Answer {
        let bootstrap = &self.bootstrap;
        match wire::text(&command["op"]) {
            "produce" => records::produce(bootstrap, command),
            "consume" => records::consume(bootstrap, command),
            "subscribe" => {
                self.member = Some(member::Member::subscribe(bootstrap, command)?);
                Ok(json!({}))
            }
            "poll" => self.member()?.poll(command),
            "commit" => self.member()?.commit(),
            "close" => {
                // Dropped, it leaves its group.
                self.member = None;
                Ok(json!({}))
            }
            "listOffsets" => admin::list_offsets(bootstrap, command),
            "offsetsForTimes" => admin::offsets_for_times(bootstrap, command),
            "createTopics" => admin::create_topics(bootstrap, command),
            "deleteTopics" => admin::delete_topics(bootstrap, command),
            "describeTopic" => admin::describe_topic(bootstrap, command),
            "createPartitions" => admin::create_partitions(bootstrap, command),
            "describeConfigs" => admin::describe_configs(bootstrap, command),
            "alterConfigs" => admin::alter_configs(bootstrap, command),
            "deleteRecords" => admin::delete_records(bootstrap, command),
            "listGroups" => groups::list(bootstrap),
            "describeGroup" => groups::describe(bootstrap, command),
            "deleteGroups" => groups::delete(bootstrap, command),
            "committed" => groups::committed(bootstrap, command),
            "alterOffsets" => groups::alter_offsets(bootstrap, command),
            op => Err(Failed::Own(format!("no handler for {op}"))),
        }
    }

    fn member(&self) -> Result<&member::Member, Failed> {
        self.member.as_ref().ok_or(Failed::Own("no subscribe before".to_string()))
    }
}

fn main() {
    let bootstrap = std::env::args().nth(1).expect("the address of a server");
    let (_, librdkafka) = rdkafka::util::get_rdkafka_version();
    let declaration = json!({
        "client": "rdkafka",
        "version": format!("{}, librdkafka {librdkafka}", wire::RDKAFKA),
        "unsupported": { "deleteOffsets": "it cannot" },
    });
    say(&declaration);
    let mut adapter = Adapter { bootstrap, member: None };
    for line in std::io::stdin().lock().lines() {
        let command: Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
        match adapter.answer(&command) {
            Ok(answer) => say(&json!({ "ok": answer })),
            Err(failed) => say(&json!({ "error": failed.told() })),
        }
    }
}

fn say(line: &Value) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).expect("standard output");
}
