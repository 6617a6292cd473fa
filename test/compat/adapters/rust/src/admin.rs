//! Topics, configs and offsets.
use futures_executor::block_on;
use rdkafka::admin::{
    AdminClient, AdminOptions, AlterConfig, ConfigSource, NewPartitions, NewTopic, ResourceSpecifier, TopicReplication,
};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::Consumer;
use rdkafka::error::RDKafkaErrorCode;
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use serde_json::{Value, json};

use crate::wire::{Answer, Failed, PATIENCE, code_told, config, consumer, items, number, text};

pub fn client(bootstrap: &str) -> Result<AdminClient<DefaultClientContext>, Failed> {
    Ok(config(bootstrap).create()?)
}

pub fn options() -> AdminOptions {
    AdminOptions::new().request_timeout(Some(PATIENCE)).operation_timeout(Some(PATIENCE))
}

/// One result for each topic or group.
pub fn results(key: &str, results: Vec<Result<String, (String, RDKafkaErrorCode)>>) -> Vec<Value> {
    let told = |result| match result {
        Ok(name) => json!({ key: name, "error": null }),
        Err((name, code)) => json!({ key: name, "error": code_told(code) }),
    };
    results.into_iter().map(told).collect()
}

pub fn create_topics(bootstrap: &str, command: &Value) -> Answer {
    let mut topics = vec![];
    for topic in items(&command["topics"]) {
        let copies = TopicReplication::Fixed(number(&topic["replicationFactor"]) as i32);
        let mut made = NewTopic::new(text(&topic["name"]), number(&topic["partitions"]) as i32, copies);
        for (name, value) in topic["configs"].as_object().into_iter().flatten() {
            made = made.set(name, text(value));
        }
        topics.push(made);
    }
    let options = options().validate_only(command["validateOnly"] == true);
    let created = block_on(client(bootstrap)?.create_topics(&topics, &options))?;
    Ok(json!({ "topics": results("name", created) }))
}

pub fn delete_topics(bootstrap: &str, command: &Value) -> Answer {
    let topics: Vec<&str> = items(&command["topics"]).iter().map(text).collect();
    let deleted = block_on(client(bootstrap)?.delete_topics(&topics, &options()))?;
    Ok(json!({ "topics": results("name", deleted) }))
}

pub fn create_partitions(bootstrap: &str, command: &Value) -> Answer {
    let wanted = NewPartitions::new(text(&command["topic"]), number(&command["total"]) as usize);
    let made = block_on(client(bootstrap)?.create_partitions(&[wanted], &options()))?;
    match made.into_iter().next() {
        Some(Err((_, code))) => Err(Failed::Code(code)),
        _ => Ok(json!({})),
    }
}

pub fn describe_topic(bootstrap: &str, command: &Value) -> Answer {
    let metadata = consumer(bootstrap, "no-group")?.fetch_metadata(Some(text(&command["topic"])), PATIENCE)?;
    let topic = &metadata.topics()[0];
    if let Some(error) = topic.error() {
        return Err(Failed::Code(error.into()));
    }
    let told = topic.partitions().iter().map(|each| {
        json!({ "partition": each.id(), "leader": each.leader(), "replicas": each.replicas(), "isr": each.isr() })
    });
    Ok(json!({ "partitions": told.collect::<Vec<_>>() }))
}

fn resource(command: &Value) -> ResourceSpecifier<'_> {
    match text(&command["kind"]) {
        "topic" => ResourceSpecifier::Topic(text(&command["name"])),
        _ => ResourceSpecifier::Broker(text(&command["name"]).parse().unwrap_or(-1)),
    }
}

/// Kafka's number; the client has names alone.
fn source(source: &ConfigSource) -> u8 {
    match source {
        ConfigSource::DynamicTopic => 1,
        ConfigSource::DynamicBroker => 2,
        ConfigSource::DynamicDefaultBroker => 3,
        ConfigSource::StaticBroker => 4,
        ConfigSource::Default => 5,
        ConfigSource::Unknown => 0,
    }
}

pub fn describe_configs(bootstrap: &str, command: &Value) -> Answer {
    let described = block_on(client(bootstrap)?.describe_configs(&[resource(command)], &options()))?;
    let found = described.into_iter().next().ok_or(Failed::Own("no answer".to_string()))?.map_err(Failed::Code)?;
    let told = found.entries.iter().map(|entry| {
        json!({
            "name": entry.name,
            "value": entry.value,
            "isReadOnly": entry.is_read_only,
            "isSensitive": entry.is_sensitive,
            "source": source(&entry.source),
        })
    });
    Ok(json!({ "configs": told.collect::<Vec<_>>() }))
}

/// Not incremental: what is not set is as it was before anyone set it.
pub fn alter_configs(bootstrap: &str, command: &Value) -> Answer {
    let mut change = AlterConfig::new(resource(command));
    for (name, value) in command["set"].as_object().into_iter().flatten() {
        change = change.set(name, text(value));
    }
    let altered = block_on(client(bootstrap)?.alter_configs(&[change], &options()))?;
    match altered.into_iter().next() {
        Some(Err((_, code))) => Err(Failed::Code(code)),
        _ => Ok(json!({})),
    }
}

pub fn delete_records(bootstrap: &str, command: &Value) -> Answer {
    let mut wanted = TopicPartitionList::new();
    let (topic, partition) = (text(&command["topic"]), number(&command["partition"]) as i32);
    wanted.add_partition_offset(topic, partition, Offset::Offset(number(&command["before"])))?;
    let deleted = block_on(client(bootstrap)?.delete_records(&wanted, &options()))?;
    let element = deleted.find_partition(topic, partition).ok_or(Failed::Own("no answer".to_string()))?;
    element.error()?;
    Ok(json!({ "lowWatermark": element.offset().to_raw() }))
}

pub fn list_offsets(bootstrap: &str, command: &Value) -> Answer {
    let asker = consumer(bootstrap, "no-group")?;
    let mut offsets = vec![];
    for partition in items(&command["partitions"]) {
        let (low, high) = asker.fetch_watermarks(text(&command["topic"]), number(partition) as i32, PATIENCE)?;
        let offset = if text(&command["at"]) == "latest" { high } else { low };
        offsets.push(json!({ "partition": partition, "offset": offset }));
    }
    Ok(json!({ "offsets": offsets }))
}

pub fn offsets_for_times(bootstrap: &str, command: &Value) -> Answer {
    let asker = consumer(bootstrap, "no-group")?;
    let mut offsets = vec![];
    for timestamp in items(&command["timestamps"]) {
        let mut wanted = TopicPartitionList::new();
        let partition = number(&command["partition"]) as i32;
        wanted.add_partition_offset(text(&command["topic"]), partition, Offset::Offset(number(timestamp)))?;
        let found = asker.offsets_for_times(wanted, PATIENCE)?;
        let element = &found.elements()[0];
        element.error()?;
        let offset = match element.offset() {
            Offset::Offset(offset) => json!(offset),
            Offset::End => json!("end"),
            _ => Value::Null,
        };
        offsets.push(json!({ "timestamp": timestamp, "offset": offset }));
    }
    Ok(json!({ "offsets": offsets }))
}
