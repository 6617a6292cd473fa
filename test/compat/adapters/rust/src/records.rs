//! Producing, and reading in no group.
use std::sync::{Arc, Mutex};
use std::time::Instant;

use rdkafka::client::ClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::{BorrowedMessage, DeliveryResult, Header, Headers, Message, OwnedHeaders, Timestamp};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer, ProducerContext};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use serde_json::{Value, json};

use crate::wire::{Answer, Failed, PATIENCE, base64, bytes, config, consumer, items, number, text};

/// What became of each record, in the order of the command.
struct Reports(Arc<Mutex<Vec<Value>>>);

impl ClientContext for Reports {}

impl ProducerContext for Reports {
    type DeliveryOpaque = Box<usize>;

    fn delivery(&self, result: &DeliveryResult<'_>, index: Box<usize>) {
        let told = match result {
            Ok(message) => json!({ "partition": message.partition(), "offset": message.offset(), "error": null }),
            Err((error, message)) => refused(error.clone(), message.partition()),
        };
        self.0.lock().expect("reports")[*index] = told;
    }
}

fn refused(error: KafkaError, partition: i32) -> Value {
    json!({ "partition": partition, "offset": -1, "error": Failed::Kafka(error).told() })
}

pub fn produce(bootstrap: &str, command: &Value) -> Answer {
    let records = items(&command["records"]);
    let reports = Arc::new(Mutex::new(vec![Value::Null; records.len()]));
    let producer = producer(bootstrap, command, Reports(reports.clone()))?;
    for (index, record) in records.iter().enumerate() {
        if let Err(error) = send(&producer, text(&command["topic"]), record, index) {
            reports.lock().expect("reports")[index] = refused(error, -1);
        }
    }
    producer.flush(PATIENCE * 2)?;
    let told = reports.lock().expect("reports").clone();
    Ok(json!({ "records": told }))
}

fn producer(bootstrap: &str, command: &Value, reports: Reports) -> Result<BaseProducer<Reports>, Failed> {
    let mut config = config(bootstrap);
    config.set("compression.codec", text(&command["codec"]));
    config.set("acks", text(&command["acks"]));
    config.set("enable.idempotence", command["idempotent"].to_string());
    config.set("message.timeout.ms", "10000");
    if command["maxBytes"].is_number() {
        config.set("message.max.bytes", command["maxBytes"].to_string());
    }
    Ok(config.create_with_context(reports)?)
}

fn send(producer: &BaseProducer<Reports>, topic: &str, record: &Value, index: usize) -> Result<(), KafkaError> {
    let (key, value) = (bytes(&record["key"]), bytes(&record["value"]));
    let mut headers = OwnedHeaders::new();
    for pair in items(&record["headers"]) {
        headers = headers.insert(Header { key: text(&pair[0]), value: bytes(&pair[1]).as_ref() });
    }
    let mut sent = BaseRecord::<Vec<u8>, Vec<u8>, Box<usize>>::with_opaque_to(topic, Box::new(index)).headers(headers);
    sent.key = key.as_ref();
    sent.payload = value.as_ref();
    sent.timestamp = record["timestamp"].as_i64();
    sent.partition = record["partition"].as_i64().map(|partition| partition as i32);
    producer.send(sent).map_err(|(error, _)| error)
}

pub fn received(message: &BorrowedMessage<'_>) -> Value {
    let (timestamp, kind) = match message.timestamp() {
        Timestamp::CreateTime(time) => (time, "create"),
        Timestamp::LogAppendTime(time) => (time, "append"),
        Timestamp::NotAvailable => (-1, "create"),
    };
    let headers: Vec<Value> = message.headers().map_or(vec![], |headers| {
        headers.iter().map(|header| json!([header.key, base64(header.value)])).collect()
    });
    json!({
        "partition": message.partition(),
        "offset": message.offset(),
        "timestamp": timestamp,
        "timestampType": kind,
        "key": base64(message.key()),
        "value": base64(message.payload()),
        "headers": headers,
    })
}

pub fn consume(bootstrap: &str, command: &Value) -> Answer {
    let reader: BaseConsumer = consumer(bootstrap, "no-group")?;
    let offset = match text(&command["offset"]) {
        "earliest" => Offset::Beginning,
        "latest" => Offset::End,
        _ => Offset::Offset(number(&command["offset"])),
    };
    let mut wanted = TopicPartitionList::new();
    wanted.add_partition_offset(text(&command["topic"]), number(&command["partition"]) as i32, offset)?;
    reader.assign(&wanted)?;
    let deadline = Instant::now() + std::time::Duration::from_millis(number(&command["timeoutMs"]) as u64);
    let mut records = vec![];
    while records.len() < number(&command["count"]) as usize && Instant::now() < deadline {
        if let Some(message) = reader.poll(deadline - Instant::now()) {
            records.push(received(&message?));
        }
    }
    Ok(json!({ "records": records }))
}
