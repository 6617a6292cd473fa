//! A member of a group.
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::types::RDKafkaErrorCode;
use serde_json::{Value, json};

use crate::records::received;
use crate::wire::{Answer, Failed, assignment, config, items, number, text};

pub struct Member(BaseConsumer);

impl Member {
    pub fn subscribe(bootstrap: &str, command: &Value) -> Result<Member, Failed> {
        let mut config = config(bootstrap);
        config.set("group.id", text(&command["group"]));
        config.set("enable.auto.commit", "false");
        config.set("auto.offset.reset", text(&command["reset"]));
        config.set("group.protocol", text(&command["protocol"]));
        if text(&command["protocol"]) == "classic" {
            let session = number(&command["sessionTimeoutMs"]);
            config.set("session.timeout.ms", session.to_string());
            config.set("heartbeat.interval.ms", (session / 3).min(500).to_string());
        }
        if let Some(instance) = command["instanceId"].as_str() {
            config.set("group.instance.id", instance);
        }
        let consumer: BaseConsumer = config.create()?;
        let topics: Vec<&str> = items(&command["topics"]).iter().map(text).collect();
        consumer.subscribe(&topics)?;
        Ok(Member(consumer))
    }

    pub fn poll(&self, command: &Value) -> Answer {
        let deadline = Instant::now() + Duration::from_millis(number(&command["forMs"]) as u64);
        let mut records = vec![];
        while records.len() < number(&command["max"]) as usize {
            // What is there at once comes with the first one.
            let wait = if records.is_empty() { deadline - Instant::now() } else { Duration::ZERO };
            match self.0.poll(wait) {
                Some(message) => records.push(received(&message?)),
                None if records.is_empty() && Instant::now() < deadline => continue,
                None => break,
            }
        }
        Ok(json!({ "records": records, "assignment": assignment(&self.0.assignment()?) }))
    }

    pub fn commit(&self) -> Answer {
        match self.0.commit_consumer_state(CommitMode::Sync) {
            // Nothing came since the last commit.
            Ok(()) | Err(KafkaError::ConsumerCommit(RDKafkaErrorCode::NoOffset)) => Ok(json!({})),
            Err(error) => Err(error.into()),
        }
    }
}
