import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.stream.StreamSupport;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.admin.MemberDescription;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.utils.internals.AppInfoParser;

/** The adapter of the Java client, as the README of the suite describes adapters. */
public final class CompatAdapter {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final String bootstrap;
    private final Admin admin;
    private KafkaConsumer<byte[], byte[]> member;

    private CompatAdapter(String bootstrap) {
        this.bootstrap = bootstrap;
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", bootstrap);
        // It asks again and again where it may be told something else later, a minute long.
        config.put("default.api.timeout.ms", 6000);
        config.put("request.timeout.ms", 5000);
        this.admin = Admin.create(config);
    }

    public static void main(String[] args) throws Exception {
        CompatAdapter adapter = new CompatAdapter(args[0]);
        say(Map.of("client", "java", "version", AppInfoParser.getVersion(), "unsupported", Map.of()));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            try {
                say(Map.of("ok", adapter.answer(JSON.readTree(line))));
            } catch (Exception failed) {
                failed.printStackTrace();
                say(Map.of("error", failureOf(failed)));
            }
        }
        Runtime.getRuntime().halt(0);
    }

    private static void say(Object line) throws Exception {
        System.out.println(JSON.writeValueAsString(line));
        System.out.flush();
    }

    /** Null for null. */
    private static Map<String, Object> failureOf(Throwable failed) {
        if (failed == null) return null;
        boolean wraps = failed instanceof ExecutionException || failed instanceof CompletionException;
        Throwable cause = wraps && failed.getCause() != null ? failed.getCause() : failed;
        Errors known = Errors.forException(cause);
        Map<String, Object> failure = new HashMap<>();
        failure.put("name", cause.getClass().getSimpleName());
        failure.put("code", known == Errors.UNKNOWN_SERVER_ERROR ? null : (Object) known.code());
        failure.put("message", String.valueOf(cause.getMessage()));
        return failure;
    }

    private Map<String, Object> answer(JsonNode command) throws Exception {
        return switch (command.get("op").asText()) {
            case "produce" -> produce(command);
            case "consume" -> consume(command);
            case "subscribe" -> subscribe(command);
            case "poll" -> poll(command);
            case "commit" -> {
                member.commitSync();
                yield Map.of();
            }
            case "close" -> {
                member.close();
                yield Map.of();
            }
            case "listOffsets" -> listOffsets(command);
            case "offsetsForTimes" -> offsetsForTimes(command);
            case "createTopics" -> createTopics(command);
            case "deleteTopics" -> Map.of("topics", results("name", admin.deleteTopics(texts(command.get("topics"))).topicNameValues()));
            case "describeTopic" -> describeTopic(command.get("topic").asText());
            case "createPartitions" -> {
                NewPartitions total = NewPartitions.increaseTo(command.get("total").asInt());
                admin.createPartitions(Map.of(command.get("topic").asText(), total)).all().get();
                yield Map.of();
            }
            case "describeConfigs" -> describeConfigs(resourceOf(command));
            case "alterConfigs" -> alterConfigs(command);
            case "deleteRecords" -> deleteRecords(command);
            case "listGroups" -> listGroups();
            case "describeGroup" -> describeGroup(command.get("group").asText());
            case "deleteGroups" -> Map.of("groups", results("group", admin.deleteConsumerGroups(texts(command.get("groups"))).deletedGroups()));
            case "committed" -> committed(command);
            case "alterOffsets" -> alterOffsets(command);
            case "deleteOffsets" -> {
                Set<TopicPartition> partitions = Set.copyOf(partitionsOf(command));
                admin.deleteConsumerGroupOffsets(command.get("group").asText(), partitions).all().get();
                yield Map.of();
            }
            default -> throw new IllegalArgumentException("no handler for " + command.get("op"));
        };
    }

    // Records.

    private Map<String, Object> produce(JsonNode command) {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", bootstrap);
        config.put("compression.type", command.get("codec").asText());
        config.put("acks", command.get("acks").asText());
        config.put("enable.idempotence", command.get("idempotent").asBoolean());
        config.put("max.block.ms", 5000);
        config.put("request.timeout.ms", 8000);
        config.put("delivery.timeout.ms", 10_000);
        if (command.has("maxBytes")) config.put("max.request.size", command.get("maxBytes").asInt());
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer())) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (JsonNode record : command.get("records")) sent.add(producer.send(toSend(command.get("topic").asText(), record)));
            List<Object> told = new ArrayList<>();
            for (Future<RecordMetadata> each : sent) told.add(produced(each));
            return Map.of("records", told);
        }
    }

    private static Map<String, Object> produced(Future<RecordMetadata> sent) {
        Map<String, Object> told = new HashMap<>();
        try {
            RecordMetadata metadata = sent.get();
            told.put("partition", metadata.partition());
            told.put("offset", metadata.offset());
            told.put("error", null);
        } catch (Exception failed) {
            told.put("partition", -1);
            told.put("offset", -1);
            told.put("error", failureOf(failed));
        }
        return told;
    }

    private static ProducerRecord<byte[], byte[]> toSend(String topic, JsonNode record) {
        List<Header> headers = new ArrayList<>();
        for (JsonNode header : record.get("headers")) headers.add(new RecordHeader(header.get(0).asText(), bytes(header.get(1))));
        Integer partition = record.has("partition") ? record.get("partition").asInt() : null;
        Long timestamp = record.has("timestamp") ? record.get("timestamp").asLong() : null;
        return new ProducerRecord<>(topic, partition, timestamp, bytes(record.get("key")), bytes(record.get("value")), headers);
    }

    private static Map<String, Object> received(ConsumerRecord<byte[], byte[]> record) {
        Map<String, Object> told = new HashMap<>();
        told.put("partition", record.partition());
        told.put("offset", record.offset());
        told.put("timestamp", record.timestamp());
        told.put("timestampType", record.timestampType() == TimestampType.LOG_APPEND_TIME ? "append" : "create");
        told.put("key", base64(record.key()));
        told.put("value", base64(record.value()));
        List<Object> headers = new ArrayList<>();
        for (Header header : record.headers()) {
            List<String> pair = new ArrayList<>();
            pair.add(header.key());
            pair.add(base64(header.value()));
            headers.add(pair);
        }
        told.put("headers", headers);
        return told;
    }

    private KafkaConsumer<byte[], byte[]> consumer(Map<String, Object> more) {
        Map<String, Object> config = new HashMap<>(more);
        config.put("bootstrap.servers", bootstrap);
        config.put("default.api.timeout.ms", 6000);
        config.put("request.timeout.ms", 5000);
        return new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private Map<String, Object> consume(JsonNode command) {
        TopicPartition partition = new TopicPartition(command.get("topic").asText(), command.get("partition").asInt());
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(Map.of())) {
            consumer.assign(List.of(partition));
            switch (command.get("offset").asText()) {
                case "earliest" -> consumer.seekToBeginning(List.of(partition));
                case "latest" -> consumer.seekToEnd(List.of(partition));
                default -> consumer.seek(partition, command.get("offset").asLong());
            }
            List<Object> records = new ArrayList<>();
            int count = command.get("count").asInt();
            long deadline = System.nanoTime() + command.get("timeoutMs").asLong() * 1_000_000;
            while (records.size() < count && System.nanoTime() < deadline) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(500))) {
                    if (records.size() < count) records.add(received(record));
                }
            }
            return Map.of("records", records);
        }
    }

    private Map<String, Object> subscribe(JsonNode command) {
        Map<String, Object> config = new HashMap<>();
        config.put("group.id", command.get("group").asText());
        config.put("auto.offset.reset", command.get("reset").asText());
        config.put("enable.auto.commit", false);
        // As much as a poll of the suite takes: positions are those of what was returned.
        config.put("max.poll.records", 100);
        config.put("group.protocol", command.get("protocol").asText());
        if (command.get("protocol").asText().equals("classic")) {
            int session = command.get("sessionTimeoutMs").asInt();
            config.put("session.timeout.ms", session);
            config.put("heartbeat.interval.ms", Math.min(500, session / 3));
        }
        if (command.has("instanceId")) config.put("group.instance.id", command.get("instanceId").asText());
        member = consumer(config);
        member.subscribe(texts(command.get("topics")));
        return Map.of();
    }

    private Map<String, Object> poll(JsonNode command) {
        List<Object> records = new ArrayList<>();
        member.poll(Duration.ofMillis(command.get("forMs").asLong())).forEach(record -> records.add(received(record)));
        return Map.of("records", records, "assignment", told(member.assignment()));
    }

    // Offsets.

    private Map<String, Object> listOffsets(JsonNode command) throws Exception {
        OffsetSpec at = command.get("at").asText().equals("latest") ? OffsetSpec.latest() : OffsetSpec.earliest();
        Map<TopicPartition, OffsetSpec> wanted = new LinkedHashMap<>();
        for (TopicPartition partition : partitionsOf(command)) wanted.put(partition, at);
        var listed = admin.listOffsets(wanted).all().get();
        List<Object> offsets = new ArrayList<>();
        for (TopicPartition each : wanted.keySet()) offsets.add(offset(each.partition(), listed.get(each).offset()));
        return Map.of("offsets", offsets);
    }

    private Map<String, Object> offsetsForTimes(JsonNode command) {
        TopicPartition partition = new TopicPartition(command.get("topic").asText(), command.get("partition").asInt());
        List<Object> offsets = new ArrayList<>();
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(Map.of())) {
            for (JsonNode timestamp : command.get("timestamps")) {
                OffsetAndTimestamp found = consumer.offsetsForTimes(Map.of(partition, timestamp.asLong())).get(partition);
                Map<String, Object> told = new HashMap<>();
                told.put("timestamp", timestamp.asLong());
                told.put("offset", found == null ? null : found.offset());
                offsets.add(told);
            }
        }
        return Map.of("offsets", offsets);
    }

    private Map<String, Object> deleteRecords(JsonNode command) throws Exception {
        TopicPartition partition = new TopicPartition(command.get("topic").asText(), command.get("partition").asInt());
        RecordsToDelete before = RecordsToDelete.beforeOffset(command.get("before").asLong());
        long low = admin.deleteRecords(Map.of(partition, before)).lowWatermarks().get(partition).get().lowWatermark();
        return Map.of("lowWatermark", low);
    }

    // Topics and configs.

    private Map<String, Object> createTopics(JsonNode command) {
        List<NewTopic> wanted = new ArrayList<>();
        for (JsonNode topic : command.get("topics")) {
            Map<String, String> configs = new HashMap<>();
            topic.get("configs").properties().forEach(each -> configs.put(each.getKey(), each.getValue().asText()));
            int partitions = topic.get("partitions").asInt();
            int copies = topic.get("replicationFactor").asInt();
            Optional<Integer> number = partitions == -1 ? Optional.empty() : Optional.of(partitions);
            Optional<Short> factor = copies == -1 ? Optional.empty() : Optional.of((short) copies);
            wanted.add(new NewTopic(topic.get("name").asText(), number, factor).configs(configs));
        }
        CreateTopicsOptions options = new CreateTopicsOptions().validateOnly(command.get("validateOnly").asBoolean());
        return Map.of("topics", results("name", admin.createTopics(wanted, options).values()));
    }

    private Map<String, Object> describeTopic(String topic) throws Exception {
        List<Object> partitions = new ArrayList<>();
        admin.describeTopics(List.of(topic)).topicNameValues().get(topic).get().partitions().forEach(each ->
            partitions.add(Map.of("partition", each.partition(), "leader", each.leader().id(),
                "replicas", ids(each.replicas()), "isr", ids(each.isr()))));
        return Map.of("partitions", partitions);
    }

    private static ConfigResource resourceOf(JsonNode command) {
        boolean isTopic = command.get("kind").asText().equals("topic");
        return new ConfigResource(isTopic ? ConfigResource.Type.TOPIC : ConfigResource.Type.BROKER, command.get("name").asText());
    }

    private Map<String, Object> describeConfigs(ConfigResource resource) throws Exception {
        List<Object> configs = new ArrayList<>();
        for (ConfigEntry entry : admin.describeConfigs(List.of(resource)).values().get(resource).get().entries()) {
            Map<String, Object> told = new HashMap<>();
            told.put("name", entry.name());
            told.put("value", entry.value());
            told.put("isReadOnly", entry.isReadOnly());
            told.put("isSensitive", entry.isSensitive());
            told.put("source", numberOf(entry.source()));
            configs.add(told);
        }
        return Map.of("configs", configs);
    }

    /** Kafka's number; the client has names alone. */
    private static int numberOf(ConfigEntry.ConfigSource source) {
        return switch (source) {
            case DYNAMIC_TOPIC_CONFIG -> 1;
            case DYNAMIC_BROKER_CONFIG -> 2;
            case DYNAMIC_DEFAULT_BROKER_CONFIG -> 3;
            case STATIC_BROKER_CONFIG -> 4;
            case DEFAULT_CONFIG -> 5;
            default -> 0;
        };
    }

    private Map<String, Object> alterConfigs(JsonNode command) throws Exception {
        List<AlterConfigOp> changes = new ArrayList<>();
        command.get("set").properties().forEach(each ->
            changes.add(new AlterConfigOp(new ConfigEntry(each.getKey(), each.getValue().asText()), AlterConfigOp.OpType.SET)));
        for (String name : texts(command.get("remove"))) {
            changes.add(new AlterConfigOp(new ConfigEntry(name, null), AlterConfigOp.OpType.DELETE));
        }
        admin.incrementalAlterConfigs(Map.of(resourceOf(command), (Collection<AlterConfigOp>) changes)).all().get();
        return Map.of();
    }

    // Groups.

    private Map<String, Object> listGroups() throws Exception {
        List<Object> groups = new ArrayList<>();
        admin.listGroups().all().get().forEach(each -> groups.add(Map.of(
            "group", each.groupId(), "protocolType", each.protocol(),
            "state", each.groupState().map(Object::toString).orElse(""),
            "type", each.type().map(Object::toString).orElse(""))));
        return Map.of("groups", groups);
    }

    private Map<String, Object> describeGroup(String name) throws Exception {
        ConsumerGroupDescription group = admin.describeConsumerGroups(List.of(name)).describedGroups().get(name).get();
        List<Object> members = new ArrayList<>();
        for (MemberDescription each : group.members()) {
            Map<String, Object> told = new HashMap<>();
            told.put("clientId", each.clientId());
            told.put("instanceId", each.groupInstanceId().orElse(null));
            told.put("partitions", told(each.assignment().topicPartitions()));
            members.add(told);
        }
        return Map.of("state", group.groupState().toString(), "protocol", group.partitionAssignor(), "members", members);
    }

    private Map<String, Object> committed(JsonNode command) throws Exception {
        String group = command.get("group").asText();
        List<TopicPartition> wanted = partitionsOf(command);
        var spec = new ListConsumerGroupOffsetsSpec().topicPartitions(wanted);
        var found = admin.listConsumerGroupOffsets(Map.of(group, spec)).partitionsToOffsetAndMetadata(group).get();
        List<Object> offsets = new ArrayList<>();
        for (TopicPartition partition : wanted) {
            OffsetAndMetadata committed = found.get(partition);
            Map<String, Object> told = offset(partition.partition(), committed == null ? -1 : committed.offset());
            told.put("metadata", committed == null ? null : committed.metadata());
            offsets.add(told);
        }
        return Map.of("offsets", offsets);
    }

    private Map<String, Object> alterOffsets(JsonNode command) throws Exception {
        Map<TopicPartition, OffsetAndMetadata> wanted = new HashMap<>();
        for (JsonNode each : command.get("offsets")) {
            TopicPartition partition = new TopicPartition(command.get("topic").asText(), each.get("partition").asInt());
            wanted.put(partition, new OffsetAndMetadata(each.get("offset").asLong()));
        }
        admin.alterConsumerGroupOffsets(command.get("group").asText(), wanted).all().get();
        return Map.of();
    }

    // Shapes.

    private static List<Object> results(String what, Map<String, KafkaFuture<Void>> futures) {
        List<Object> results = new ArrayList<>();
        futures.forEach((name, future) -> {
            Map<String, Object> result = new HashMap<>();
            result.put(what, name);
            result.put("error", failureOf(failedOf(future)));
            results.add(result);
        });
        return results;
    }

    private static Throwable failedOf(KafkaFuture<Void> future) {
        try {
            future.get();
            return null;
        } catch (Exception failed) {
            return failed;
        }
    }

    private static Map<String, Object> offset(int partition, long offset) {
        Map<String, Object> told = new HashMap<>();
        told.put("partition", partition);
        told.put("offset", offset);
        return told;
    }

    /** The client gives sets, in no order. */
    private static List<Object> told(Collection<TopicPartition> partitions) {
        List<TopicPartition> sorted = new ArrayList<>(partitions);
        sorted.sort(Comparator.comparing(TopicPartition::topic).thenComparing(TopicPartition::partition));
        List<Object> told = new ArrayList<>();
        for (TopicPartition each : sorted) told.add(Map.of("topic", each.topic(), "partition", each.partition()));
        return told;
    }

    private static List<Integer> ids(List<Node> nodes) {
        return nodes.stream().map(Node::id).toList();
    }

    private static List<TopicPartition> partitionsOf(JsonNode command) {
        List<TopicPartition> partitions = new ArrayList<>();
        for (JsonNode each : command.get("partitions")) partitions.add(new TopicPartition(command.get("topic").asText(), each.asInt()));
        return partitions;
    }

    private static List<String> texts(JsonNode array) {
        return StreamSupport.stream(array.spliterator(), false).map(JsonNode::asText).toList();
    }

    private static byte[] bytes(JsonNode text) {
        return text.isNull() ? null : Base64.getDecoder().decode(text.asText());
    }

    private static String base64(byte[] bytes) {
        return bytes == null ? null : Base64.getEncoder().encodeToString(bytes);
    }
}
