//! What is said on the lines: failures, bytes, configurations of clients.
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rdkafka::ClientConfig;
use rdkafka::consumer::BaseConsumer;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::topic_partition_list::TopicPartitionList;
use rdkafka::types::RDKafkaErrorCode as Code;
use serde_json::{Value, json};
use std::time::Duration;

/// The version that Cargo.toml pins.
pub const RDKAFKA: &str = "0.39.0";
/// How long one question may take.
pub const PATIENCE: Duration = Duration::from_secs(10);

pub type Answer = Result<Value, Failed>;

pub enum Failed {
    Kafka(KafkaError),
    Code(RDKafkaErrorCode),
    /// An error of the adapter.
    Own(String),
}

impl From<KafkaError> for Failed {
    fn from(error: KafkaError) -> Self {
        Failed::Kafka(error)
    }
}

impl Failed {
    pub fn told(&self) -> Value {
        match self {
            Failed::Code(code) => code_told(*code),
            Failed::Kafka(KafkaError::AdminOp(code)) => code_told(*code),
            Failed::Kafka(error) => match error.rdkafka_error_code() {
                Some(code) => code_told(code),
                None => json!({ "name": "KafkaError", "code": null, "message": error.to_string() }),
            },
            Failed::Own(message) => json!({ "name": "adapter", "code": null, "message": message }),
        }
    }
}

/// Kafka's numbers are positive, those of librdkafka's own errors negative.
pub fn code_told(code: Code) -> Value {
    let number = code as i32;
    let known = if number > 0 { json!(number) } else { Value::Null };
    json!({ "name": format!("{code:?}"), "code": known, "message": code.to_string() })
}

pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

pub fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

pub fn bytes(value: &Value) -> Option<Vec<u8>> {
    value.as_str().map(|text| STANDARD.decode(text).expect("base64"))
}

pub fn base64(bytes: Option<&[u8]>) -> Value {
    bytes.map_or(Value::Null, |bytes| json!(STANDARD.encode(bytes)))
}

pub fn config(bootstrap: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", bootstrap);
    config
}

/// A consumer that is in no group as long as it does not subscribe; librdkafka wants a name of one all the same.
pub fn consumer(bootstrap: &str, group: &str) -> Result<BaseConsumer, Failed> {
    let mut config = config(bootstrap);
    config.set("group.id", group).set("enable.auto.commit", "false");
    Ok(config.create()?)
}

pub fn assignment(list: &TopicPartitionList) -> Value {
    list.elements().iter().map(|each| json!({ "topic": each.topic(), "partition": each.partition() })).collect()
}
