/*
 * A load of records by librdkafka, measured inside the client's own process.
 *
 *   rdkafka-load produce BROKERS TOPIC BYTES RECORDS WARM_RECORDS [NAME=VALUE ...]
 *   rdkafka-load latency BROKERS TOPIC BYTES PER_SECOND SECONDS WARM_SECONDS [NAME=VALUE ...]
 *   rdkafka-load consume BROKERS TOPIC RECORDS READERS begin|end
 *
 * `produce` sends as fast as it can and prints {"perSecond": ...}; the warm records do not count. `latency` sends at an even rate
 * and reads the topic at the same time; it prints quantiles, in ms, of the time from produce() to the acknowledgement and to the
 * consumer: {"ack": {"p50": ..., "p99": ..., "p999": ...}, "endToEnd": {...}, "late": SHARE}, late being the share of records
 * that were sent more than 10 ms after their time, because the cluster or the machine did not keep up. `consume` has so many
 * consumers read so many records each, at the same time, from the beginning or from the present end; it prints "ready" when all of
 * them are in place, and in the end {"perSecond": ...}, of all together from the first record to the last.
 * NAME=VALUE are settings of the producer. Ends with 1 when a record fails.
 */
#include <librdkafka/rdkafka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void fail(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

/* Times of many records, in ns; as many as were promised at its making. */
struct samples {
  int64_t *values;
  size_t count, room;
};

static struct samples samples_of(size_t room) {
  struct samples s = {calloc(room, sizeof(int64_t)), 0, room};
  if (s.values == NULL) fail("samples", "no memory");
  return s;
}

static void note(struct samples *s, int64_t value) {
  if (s->count < s->room) s->values[s->count++] = value;
}

static int ascending(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return x < y ? -1 : x > y;
}

static void print_quantiles(const char *name, struct samples *s) {
  qsort(s->values, s->count, sizeof(int64_t), ascending);
  const double shares[] = {0.5, 0.99, 0.999};
  const char *names[] = {"p50", "p99", "p999"};
  printf("\"%s\": {\"count\": %zu", name, s->count);
  for (int i = 0; i < 3 && s->count > 0; i++)
    printf(", \"%s\": %.3f", names[i], (double)s->values[(size_t)(shares[i] * (double)(s->count - 1))] / 1e6);
  printf("}");
}

static struct samples acks, ends;
static atomic_llong acknowledged;
static atomic_int stopping;

static void on_delivery(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque) {
  (void)client;
  (void)opaque;
  if (message->err) fail("a record was not taken", rd_kafka_err2str(message->err));
  acknowledged++;
  int64_t sent;
  memcpy(&sent, message->payload, sizeof sent);
  if (sent > 0) note(&acks, now_ns() - sent);
}

static void set(rd_kafka_conf_t *conf, const char *name, const char *value) {
  char error[512];
  if (rd_kafka_conf_set(conf, name, value, error, sizeof error) != RD_KAFKA_CONF_OK) fail(name, error);
}

static rd_kafka_t *client(rd_kafka_type_t type, rd_kafka_conf_t *conf) {
  char error[512];
  rd_kafka_t *made = rd_kafka_new(type, conf, error, sizeof error);
  if (made == NULL) fail("client", error);
  return made;
}

static rd_kafka_t *producer(const char *brokers, char **settings, int count) {
  rd_kafka_conf_t *conf = rd_kafka_conf_new();
  set(conf, "bootstrap.servers", brokers);
  set(conf, "acks", "all");
  set(conf, "queue.buffering.max.messages", "1000000");
  for (int i = 0; i < count; i++) {
    char *value = strchr(settings[i], '=');
    if (value == NULL) fail(settings[i], "is not NAME=VALUE");
    *value = '\0';
    set(conf, settings[i], value + 1);
  }
  rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
  return client(RD_KAFKA_PRODUCER, conf);
}

/* Sends one record that carries `sent`, 0 for one that is not measured; waits where the client's queue is full. */
static void send_record(rd_kafka_t *to, rd_kafka_topic_t *topic, char *value, size_t bytes, int64_t sent) {
  memcpy(value, &sent, sizeof sent);
  while (rd_kafka_produce(topic, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, value, bytes, NULL, 0, NULL) == -1) {
    if (rd_kafka_last_error() != RD_KAFKA_RESP_ERR__QUEUE_FULL) fail("produce", rd_kafka_err2str(rd_kafka_last_error()));
    rd_kafka_poll(to, 10);
  }
}

static char *record_of(size_t bytes) {
  char *value = malloc(bytes);
  if (value == NULL || bytes < sizeof(int64_t)) fail("BYTES", "at least 8, and what memory holds");
  /* Half of it is compressible, as text is. */
  for (size_t i = 0; i < bytes; i++) value[i] = i % 2 ? (char)rand() : (char)('a' + i % 13);
  return value;
}

static void run_produce(rd_kafka_t *to, rd_kafka_topic_t *topic, size_t bytes, long long records, long long warm) {
  char *value = record_of(bytes);
  int64_t start = 0;
  for (long long i = 0; i < warm + records; i++) {
    if (i == warm) start = now_ns();
    send_record(to, topic, value, bytes, 0);
    if (i % 64 == 0) rd_kafka_poll(to, 0);
  }
  if (rd_kafka_flush(to, 120000) != RD_KAFKA_RESP_ERR_NO_ERROR) fail("flush", "not all was acknowledged within two minutes");
  printf("{\"perSecond\": %.1f}\n", (double)records / ((double)(now_ns() - start) / 1e9));
}

/* Acknowledgements are noted when they come, not when the sender next wakes. */
static void *poll_all(void *opaque) {
  while (!stopping) rd_kafka_poll(opaque, 100);
  return NULL;
}

static void sleep_until(int64_t at_ns) {
  struct timespec t = {at_ns / 1000000000, at_ns % 1000000000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0) continue;
}

static pthread_t started(void *(*body)(void *), void *opaque) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, body, opaque) != 0) fail("thread", "none to be had");
  return thread;
}

static void *read_all(void *opaque) {
  rd_kafka_t *from = opaque;
  while (!stopping) {
    rd_kafka_message_t *message = rd_kafka_consumer_poll(from, 100);
    if (message == NULL) continue;
    int64_t sent = 0;
    if (!message->err && message->len >= sizeof sent) memcpy(&sent, message->payload, sizeof sent);
    if (sent > 0) note(&ends, now_ns() - sent);
    rd_kafka_message_destroy(message);
  }
  return NULL;
}

/* A consumer of all partitions, from their beginnings or ends on, without a group's memory. */
static rd_kafka_t *reader(const char *brokers, const char *topic, int from_end) {
  rd_kafka_conf_t *conf = rd_kafka_conf_new();
  set(conf, "bootstrap.servers", brokers);
  set(conf, "group.id", "rdkafka-load");
  set(conf, "enable.auto.commit", "false");
  rd_kafka_t *made = client(RD_KAFKA_CONSUMER, conf);
  rd_kafka_poll_set_consumer(made);
  const struct rd_kafka_metadata *metadata;
  rd_kafka_topic_t *handle = rd_kafka_topic_new(made, topic, NULL);
  if (rd_kafka_metadata(made, 0, handle, &metadata, 10000) != RD_KAFKA_RESP_ERR_NO_ERROR) fail(topic, "no metadata");
  rd_kafka_topic_partition_list_t *all = rd_kafka_topic_partition_list_new(metadata->topics[0].partition_cnt);
  for (int i = 0; i < metadata->topics[0].partition_cnt; i++) {
    int64_t low, high;
    if (rd_kafka_query_watermark_offsets(made, topic, i, &low, &high, 10000) != RD_KAFKA_RESP_ERR_NO_ERROR)
      fail(topic, "no offsets");
    rd_kafka_topic_partition_list_add(all, topic, i)->offset = from_end ? high : low;
  }
  rd_kafka_assign(made, all);
  rd_kafka_topic_partition_list_destroy(all);
  rd_kafka_metadata_destroy(metadata);
  rd_kafka_topic_destroy(handle);
  return made;
}

/* One of several consumers: what it reads, and when it had its first and its last record. */
struct reading {
  rd_kafka_t *from;
  long long wanted;
  int64_t first_ns, last_ns;
};

static void *read_wanted(void *opaque) {
  struct reading *own = opaque;
  for (long long count = 0; count < own->wanted;) {
    rd_kafka_message_t *message = rd_kafka_consumer_poll(own->from, 60000);
    if (message == NULL) fail("consume", "no record for a minute");
    if (message->err) fail("consume", rd_kafka_message_errstr(message));
    if (count++ == 0) own->first_ns = now_ns();
    rd_kafka_message_destroy(message);
  }
  own->last_ns = now_ns();
  return NULL;
}

static void run_consume(const char *brokers, const char *topic, long long records, int count, int from_end) {
  struct reading *readings = calloc((size_t)count, sizeof *readings);
  pthread_t *threads = calloc((size_t)count, sizeof *threads);
  for (int i = 0; i < count; i++) readings[i] = (struct reading){reader(brokers, topic, from_end), records, 0, 0};
  for (int i = 0; i < count; i++) threads[i] = started(read_wanted, &readings[i]);
  printf("ready\n");
  fflush(stdout);
  int64_t first = INT64_MAX, last = 0;
  for (int i = 0; i < count; i++) {
    pthread_join(threads[i], NULL);
    if (readings[i].first_ns < first) first = readings[i].first_ns;
    if (readings[i].last_ns > last) last = readings[i].last_ns;
    rd_kafka_consumer_close(readings[i].from);
  }
  printf("{\"perSecond\": %.1f}\n", (double)records * count / ((double)(last - first) / 1e9));
}

static void run_latency(rd_kafka_t *to, rd_kafka_topic_t *topic, const char *brokers, const char *name, size_t bytes,
                        long per_second, long seconds, long warm_seconds) {
  char *value = record_of(bytes);
  long long warm = (long long)per_second * warm_seconds, all = warm + (long long)per_second * seconds, late = 0;
  acks = samples_of((size_t)all);
  ends = samples_of((size_t)all);
  rd_kafka_t *from = reader(brokers, name, 1);
  pthread_t threads[] = {started(read_all, from), started(poll_all, to)};
  int64_t start = now_ns();
  for (long long i = 0; i < all; i++) {
    int64_t due = start + i * 1000000000 / per_second;
    sleep_until(due);
    int64_t at = now_ns();
    if (i >= warm && at - due > 10000000) late++;
    send_record(to, topic, value, bytes, i < warm ? 0 : at);
  }
  if (rd_kafka_flush(to, 120000) != RD_KAFKA_RESP_ERR_NO_ERROR) fail("flush", "not all was acknowledged within two minutes");
  for (int i = 0; i < 500 && ends.count < (size_t)(all - warm); i++) sleep_until(now_ns() + 10000000);
  stopping = 1;
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  printf("{");
  print_quantiles("ack", &acks);
  printf(", ");
  print_quantiles("endToEnd", &ends);
  printf(", \"late\": %.5f}\n", (double)late / (double)(all - warm));
  rd_kafka_consumer_close(from);
  rd_kafka_destroy(from);
}

static void usage(void) { fail("rdkafka-load", "see the head of its source"); }

static int produce_or_latency(int argc, char **argv, int is_latency) {
  int fixed = is_latency ? 8 : 7;
  if (argc < fixed) usage();
  rd_kafka_t *to = producer(argv[2], argv + fixed, argc - fixed);
  rd_kafka_topic_t *topic = rd_kafka_topic_new(to, argv[3], NULL);
  size_t bytes = (size_t)atoll(argv[4]);
  if (is_latency) run_latency(to, topic, argv[2], argv[3], bytes, atol(argv[5]), atol(argv[6]), atol(argv[7]));
  else run_produce(to, topic, bytes, atoll(argv[5]), atoll(argv[6]));
  rd_kafka_topic_destroy(topic);
  rd_kafka_destroy(to);
  return 0;
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "produce") == 0) return produce_or_latency(argc, argv, 0);
  if (strcmp(what, "latency") == 0) return produce_or_latency(argc, argv, 1);
  if (strcmp(what, "consume") != 0 || argc != 7) usage();
  run_consume(argv[2], argv[3], atoll(argv[4]), atoi(argv[5]), strcmp(argv[6], "end") == 0);
  return 0;
}
