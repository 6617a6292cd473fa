//! Groups, and what they have committed.
use futures_executor::block_on;
use rdkafka::consumer::{CommitMode, Consumer};
use rdkafka::groups::GroupInfo;
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use serde_json::{Value, json};

use crate::admin::{client, options, results};
use crate::wire::{Answer, Failed, PATIENCE, consumer, items, number, text};

pub fn list(bootstrap: &str) -> Answer {
    let listed = consumer(bootstrap, "no-group")?.fetch_group_list(None, PATIENCE)?;
    let told = listed.groups().iter().map(|group| {
        json!({ "group": group.name(), "state": group.state(), "protocolType": group.protocol_type() })
    });
    Ok(json!({ "groups": told.collect::<Vec<_>>() }))
}

pub fn describe(bootstrap: &str, command: &Value) -> Answer {
    let listed = consumer(bootstrap, "no-group")?.fetch_group_list(Some(text(&command["group"])), PATIENCE)?;
    match listed.groups().first() {
        Some(group) => Ok(described(group)),
        None => Err(Failed::Own("no answer".to_string())),
    }
}

fn described(group: &GroupInfo) -> Value {
    let members = group.members().iter().map(|member| {
        json!({ "clientId": member.client_id(), "partitions": assigned(member.assignment().unwrap_or_default()) })
    });
    json!({
        "state": group.state(),
        "protocolType": group.protocol_type(),
        "protocol": group.protocol(),
        "members": members.collect::<Vec<_>>(),
    })
}

/// The client leaves the decoding of an assignment to its users: version, then topics with their partitions.
fn assigned(bytes: &[u8]) -> Vec<Value> {
    let mut rest = bytes;
    let mut take = |count: usize| {
        let (taken, left) = rest.split_at(count.min(rest.len()));
        rest = left;
        taken
    };
    fn int(bytes: &[u8]) -> i64 {
        bytes.iter().fold(0, |value, byte| value << 8 | i64::from(*byte))
    }
    if bytes.is_empty() {
        return vec![];
    }
    take(2);
    let mut partitions = vec![];
    for _ in 0..int(take(4)) {
        let length = int(take(2)) as usize;
        let topic = String::from_utf8_lossy(take(length)).into_owned();
        for _ in 0..int(take(4)) {
            partitions.push(json!({ "topic": topic, "partition": int(take(4)) }));
        }
    }
    partitions
}

pub fn delete(bootstrap: &str, command: &Value) -> Answer {
    let groups: Vec<&str> = items(&command["groups"]).iter().map(text).collect();
    let deleted = block_on(client(bootstrap)?.delete_groups(&groups, &options()))?;
    Ok(json!({ "groups": results("group", deleted) }))
}

pub fn committed(bootstrap: &str, command: &Value) -> Answer {
    let mut wanted = TopicPartitionList::new();
    for partition in items(&command["partitions"]) {
        wanted.add_partition(text(&command["topic"]), number(partition) as i32);
    }
    let found = consumer(bootstrap, text(&command["group"]))?.committed_offsets(wanted, PATIENCE)?;
    let mut offsets = vec![];
    for element in found.elements() {
        element.error()?;
        let offset = if let Offset::Offset(offset) = element.offset() { offset } else { -1 };
        offsets.push(json!({ "partition": element.partition(), "offset": offset, "metadata": element.metadata() }));
    }
    Ok(json!({ "offsets": offsets }))
}

pub fn alter_offsets(bootstrap: &str, command: &Value) -> Answer {
    let mut wanted = TopicPartitionList::new();
    for each in items(&command["offsets"]) {
        let offset = Offset::Offset(number(&each["offset"]));
        wanted.add_partition_offset(text(&command["topic"]), number(&each["partition"]) as i32, offset)?;
    }
    consumer(bootstrap, text(&command["group"]))?.commit(&wanted, CommitMode::Sync)?;
    Ok(json!({}))
}
