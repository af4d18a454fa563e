#include "server/worker.h"

#include <pthread.h>

#include <algorithm>
#include <span>
#include <utility>

#include "filters/check.h"
#include "server/bloom_value.h"
#include "server/connection.h"
#include "server/log.h"
#include "server/spectral_value.h"
#include "server/text.h"

namespace iris::server {

namespace {

// What a tick may read before it must execute. Small enough to stay in a core's cache.
constexpr size_t kArenaBytes = 1 << 20;
// Room that every read gets.
constexpr size_t kReadBytes = 64 * 1024;
// An unfinished request of this size has its rest read directly, without the arena.
constexpr size_t kReadDirectlyFrom = 1 << 20;
// Of what a large request took, so much is kept for a second or two.
constexpr size_t kMostSpareBytes = 64 << 20;
// Requests that are planned before they run: enough to hide the memory's latency, few enough that
// what was prefetched is still there.
constexpr size_t kBatchRequests = 128;
// So many items, or those of a request that has more, have their memory asked for in one go. A
// prefetch holds up what comes after it until its address is translated, which in a large filter
// takes a walk through the page tables. Eight in a row walk side by side: 3 % less time for a
// request of one item than a prefetch after each was parsed. Eighty in a row, from eight requests,
// are more than a core can wait for: 14 % more for requests of ten.
constexpr size_t kPrefetchedTogether = 8;
// Items of one request that are planned, and of a whole batch. Each brings a cache line or two: 512
// of them filled a first cache of 32 KB and drove each other out before they were used.
constexpr size_t kPlannedItems = 32;
constexpr size_t kBatchItems = 128;
// Replies beyond this are sent before the tick goes on.
constexpr size_t kOutputBytes = 1 << 20;
constexpr uint64_t kRoundMs = 1000;
// An unfinished request has to gain this much within `request-timeout`, or it stalls.
constexpr uint64_t kProgressBytes = 16 * 1024;

}  // namespace

Worker::Worker(Engine& engine, size_t member)
    : engine_(engine),
      stats_(engine.stats.member(member)),
      member_(member),
      dispatcher_(engine, member),
      arena_(new char[kArenaBytes]),
      requests_(new Request[kBatchRequests]) {
  hashes_.reserve(kBatchItems);
  CHECK(uv_loop_init(&loop_) == 0);
  uv_check_init(&loop_, &after_poll_);
  after_poll_.data = this;
  uv_check_start(&after_poll_,
                 [](uv_check_t* check) { static_cast<Worker*>(check->data)->tick(); });
  uv_prepare_init(&loop_, &before_poll_);
  before_poll_.data = this;
  uv_prepare_start(&before_poll_, [](uv_prepare_t* prepare) {
    static_cast<Worker*>(prepare->data)->ask_for_sync();
  });
  uv_async_init(&loop_, &wake_,
                [](uv_async_t* async) { static_cast<Worker*>(async->data)->run_tasks(); });
  wake_.data = this;
  uv_timer_init(&loop_, &timer_);
  timer_.data = this;
  uv_timer_start(
      &timer_, [](uv_timer_t* timer) { static_cast<Worker*>(timer->data)->background_round(); },
      kRoundMs, kRoundMs);
}

Worker::~Worker() {
  uv_loop_close(&loop_);
}

void Worker::start(std::function<void()> ended) {
  thread_ = std::thread([this, ended = std::move(ended)] {
    run_loop();
    ended();
  });
}

void Worker::run_loop() {
  const std::string name = "iris-worker-" + std::to_string(member_);
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
  uv_run(&loop_, UV_RUN_DEFAULT);
}

void Worker::stop() {
  post([](Worker& worker) { worker.close_all(); });
}

void Worker::join() {
  if (thread_.joinable()) thread_.join();
}

void Worker::close_all() {
  {
    std::lock_guard<std::mutex> lock(tasks_mutex_);
    stopped_ = true;  // from here on wake_ must not be used
  }
  for (auto it = connections_.begin(); it != connections_.end();) {
    Connection* connection = it->second;
    ++it;  // close() takes it out of the map
    connection->close();
  }
  for (uv_handle_t* handle :
       {reinterpret_cast<uv_handle_t*>(&after_poll_), reinterpret_cast<uv_handle_t*>(&before_poll_),
        reinterpret_cast<uv_handle_t*>(&wake_), reinterpret_cast<uv_handle_t*>(&timer_)}) {
    if (uv_is_closing(handle) == 0) uv_close(handle, nullptr);
  }
}

void Worker::post(std::function<void(Worker&)> task) {
  std::lock_guard<std::mutex> lock(tasks_mutex_);
  if (stopped_) return;
  tasks_.push_back(std::move(task));
  uv_async_send(&wake_);
}

void Worker::run_tasks() {
  std::vector<std::function<void(Worker&)>> tasks;
  {
    std::lock_guard<std::mutex> lock(tasks_mutex_);
    tasks.swap(tasks_);
  }
  for (const auto& task : tasks) task(*this);
}

void Worker::adopt(int fd, bool is_unix, uint32_t keepalive_s) {
  load_.fetch_add(1, std::memory_order_relaxed);
  post([=](Worker& worker) { Connection::open(worker, fd, is_unix, keepalive_s); });
}

Connection* Worker::connection(uint64_t client_id) {
  auto found = connections_.find(client_id);
  return found == connections_.end() ? nullptr : found->second;
}

void Worker::opened(Connection& connection) {
  connections_.emplace(connection.session.record->id, &connection);
  InsideWorld inside(engine_.world, member_);
  connection.session.authenticated = engine_.config.requirepass.empty();
}

void Worker::closed(Connection& connection) {
  if (connection.held_outputs > 0) {
    for (HeldOutputs& held : held_) {
      for (Output& output : held.outputs) {
        if (output.connection == &connection) output.connection = nullptr;
      }
    }
  }
  if (connection.parked) std::erase(parked_, &connection);
  const uint64_t id = connection.session.record->id;
  engine_.monitors.remove(id);
  engine_.clients.remove(id);
  connections_.erase(id);
  load_.fetch_sub(1, std::memory_order_relaxed);
}

// --- read ---

std::span<char> Worker::read_buffer(Connection& connection) {
  const size_t size = kArenaBytes - arena_used_;
  Connection::Input& unfinished = connection.unfinished_input();
  const bool direct = unfinished.size() >= kReadDirectlyFrom && connection.fresh_size == 0;
  if (direct) take_spare(unfinished);
  return {direct ? unfinished.room(size) : arena_.get() + arena_used_, size};
}

void Worker::bytes_read(Connection& connection, char* data, size_t size) {
  stats_.input_bytes.add(size);
  mark_ready(connection);
  const bool direct = data != arena_.get() + arena_used_;
  arena_used_ += size;
  if (direct) {
    connection.unfinished_input().extend(size);
  } else if (connection.fresh_size == 0) {
    connection.fresh_data = data;
    connection.fresh_size = size;
  } else if (connection.fresh_data + connection.fresh_size == data) {
    connection.fresh_size += size;
  } else {
    // A second read in one tick, after somebody else's.
    connection.unfinished_input().append({connection.fresh_data, connection.fresh_size});
    connection.fresh_data = data;
    connection.fresh_size = size;
  }
  if (kArenaBytes - arena_used_ < kReadBytes) tick();
}

void Worker::mark_ready(Connection& connection) {
  if (connection.ready) return;
  connection.ready = true;
  ready_.push_back(&connection);
}

void Worker::end_of_input(Connection& connection) {
  if (connection.ready) {
    connection.at_end_of_input = true;
  } else {
    end_connection(connection);
  }
}

// It may have closed only its own half, and still read.
void Worker::end_connection(Connection& connection) {
  if (connection.held_outputs > 0) {
    connection.session.close_after_reply = true;
    connection.pause_reading();
  } else {
    connection.close_after_output();
  }
}

// --- execute ---

void Worker::tick() {
  if (ready_.empty()) return;
  persistence::Lsn lsn = 0;
  {
    InsideWorld inside(engine_.world, member_);
    dispatcher_.begin_batch(engine_.clock.wall_ms());
    for (Connection* connection : ready_) read_requests(*connection);
    run_batch();
    dispatcher_.end_batch();
    lsn = lsn_to_wait_for();
  }
  write_outputs(lsn);
  for (Connection* connection : ready_) {
    connection->ready = false;
    connection->fresh_size = 0;
    const bool has_more_to_run = connection->parked || connection->session.waits_for_answer;
    if (connection->at_end_of_input && !has_more_to_run) end_connection(*connection);
  }
  ready_.clear();
  arena_used_ = 0;
}

void Worker::read_requests(Connection& connection) {
  if (connection.closing()) return;
  Session& session = connection.session;
  size_t size = 0;
  char* data = gathered_input(connection, size);
  protocol::RequestLimits limits;
  limits.max_bulk_bytes = engine_.config.proto_max_bulk_bytes;
  const Wait must_wait = who_must_wait();
  while (size > 0 && !connection.closing() && !session.close_after_reply) {
    limits.authenticated = session.authenticated;
    const size_t first_arg = args_.size();
    size_t consumed = 0;
    const protocol::ParseStatus status =
        connection.parser.parse(data, size, limits, args_, consumed);
    const Command* command =
        status == protocol::ParseStatus::kRequest ? find_command(args_[first_arg]) : nullptr;
    if (must_wait != Wait::kNobody && must_park(must_wait, command, *data)) {
      args_.truncate(first_arg);
      park(connection);
      break;
    }
    data += consumed;
    size -= consumed;
    if (status == protocol::ParseStatus::kIncomplete) break;
    if (status == protocol::ParseStatus::kError) {
      run_batch();
      fail_protocol(connection, connection.parser.error());
      break;
    }
    plan(connection, first_arg, command);
    if (command != nullptr && command->has(kAnsweredLater)) {
      run_batch();
      if (session.waits_for_answer) {
        connection.pause_reading();
        session.record->set_flag(kClientBlocked, true);
        break;
      }
    }
    // Before authentication one at a time: AUTH changes how the next one is parsed.
    if (requests_used_ >= kBatchRequests || hashes_.size() + kPlannedItems > kBatchItems ||
        !session.authenticated) {
      run_batch();
    }
  }
  keep_unfinished(connection, data, size);
  session.record->active_ms.store(dispatcher_.now_ms(), std::memory_order_relaxed);
}

char* Worker::gathered_input(Connection& connection, size_t& size) {
  Connection::Input& unfinished = connection.unfinished_input();
  if (unfinished.empty()) {
    size = connection.fresh_size;
    return connection.fresh_data;
  }
  unfinished.append({connection.fresh_data, connection.fresh_size});
  size = unfinished.size();
  return unfinished.data();
}

void Worker::keep_unfinished(Connection& connection, const char* rest, size_t size) {
  Connection::Input& unfinished = connection.unfinished_input();
  if (unfinished.size() == size) {
    if (size == 0) return;
  } else {
    if (unfinished.empty()) {
      unfinished.append({rest, size});
    } else {
      // Requests of this batch look into the bytes that are about to move.
      run_batch();
      if (size == 0) keep_spare(unfinished);
      unfinished.keep_last(size);
    }
    connection.progress_ms = dispatcher_.now_ms();
    connection.progress_bytes = size;
  }
  connection.session.record->input_bytes.store(size, std::memory_order_relaxed);
  if (size > engine_.config.client_query_buffer_bytes) {
    log_warning("Client id={} addr={} closed: its unfinished request has passed the query limit",
                connection.session.record->id, connection.session.record->address);
    stats_.query_limit_disconnections.add();
    connection.close();
  }
}

// Clients that send large requests send many. New memory for each would be a third of its cost on a
// machine that is itself a guest: its pages are cleared by the kernel, and found by the host.
void Worker::keep_spare(Connection::Input& unfinished) {
  const size_t bytes = unfinished.capacity_bytes();
  if (bytes < protocol::LargeMemory::kMappedFromBytes || bytes > kMostSpareBytes) return;
  spare_was_used_ = true;
  if (bytes > spare_.capacity_bytes()) spare_.swap(unfinished);
  spare_.truncate(0);
}

void Worker::take_spare(Connection::Input& unfinished) {
  if (unfinished.capacity_bytes() >= spare_.capacity_bytes()) return;
  spare_.append({unfinished.data(), unfinished.size()});
  spare_.swap(unfinished);
  spare_.release();
}

// Of requests that have become rare: the spare, and the room for very many arguments.
void Worker::release_idle_memory() {
  if (!spare_was_used_) {
    spare_.release();
    if (args_.capacity_bytes() >= protocol::LargeMemory::kMappedFromBytes) args_.release();
  }
  spare_was_used_ = false;
}

void Worker::fail_protocol(Connection& connection, std::string_view error) {
  log_verbose("Protocol error from client id={} addr={}", connection.session.record->id,
              connection.session.record->address);
  const size_t begin = output_.size();
  protocol::ReplyWriter(output_, connection.session.version).error(error);
  stats_.count_error(error);
  connection.session.close_after_reply = true;
  outputs_.push_back({&connection, begin, output_.size()});
}

void Worker::plan(Connection& connection, size_t first_arg, const Command* command) {
  Request& request = requests_[requests_used_++];
  request = {&connection, command, static_cast<uint32_t>(first_arg),
             static_cast<uint32_t>(args_.size() - first_arg)};
  if (request.command != nullptr && request.command->spec->plan != Plan::kNone &&
      request.argc > 2) {
    plan_items(request);
  }
  if (hashes_.size() - prefetched_hashes_ >= kPrefetchedTogether) prefetch_planned();
}

inline const Command* Worker::find_command(std::string_view name) {
  if (!equal_names(name, last_name_)) {
    last_name_ = name;
    last_command_ = engine_.commands.find(name);
  }
  return last_command_;
}

// Most requests of a batch are about the same key. Nothing can change the keyspace before they run.
inline Entry* Worker::find_entry(uint32_t db, std::string_view key) {
  if (last_entry_ == nullptr || db != last_key_db_ || !equal_names(key, last_key_)) {
    last_entry_ = engine_.keyspace.find(db, Database::hashed(key), dispatcher_.now_ms());
    last_key_ = key;
    last_key_db_ = db;
  }
  return last_entry_;
}

// Looks the key up and hashes the items. Whether the command may run at all is decided when it
// does; until then this changes nothing that counts.
void Worker::plan_items(Request& request) {
  Session& session = request.connection->session;
  if (!session.authenticated || engine_.loading.load(std::memory_order_relaxed)) return;
  const std::string_view* args = args_.data() + request.first_arg;
  Entry* entry = find_entry(session.db, args[1]);
  if (entry == nullptr) return;
  const size_t begin = hashes_.size();
  const size_t given = request.command->spec->plan == Plan::kKeyItem ? 1 : request.argc - 2;
  const size_t items = std::min({given, kPlannedItems, hashes_.capacity() - begin});
  const auto hash_items = [&](const auto& filter) {
    for (size_t i = 0; i < items; i++) hashes_.push_back(filter.hash(args[2 + i]));
  };
  if (entry->value->kind() == ValueKind::kBloom) {
    hash_items(static_cast<BloomValue&>(*entry->value).filter());
  } else if (entry->value->kind() == ValueKind::kSpectral) {
    hash_items(static_cast<SpectralValue&>(*entry->value).filter());
  } else {
    return;
  }
  if (!session.record->has_flag(kClientNoTouch)) entry->value->touch(dispatcher_.now_ms());
  request.planned = {entry->value.get(),
                     {hashes_.data() + begin, items},
                     engine_.keyspace.generation(),
                     session.db};
}

// Asks for the memory that the planned requests will touch, from those that have not asked yet.
void Worker::prefetch_planned() {
  prefetched_hashes_ = hashes_.size();
  for (; prefetched_ < requests_used_; prefetched_++) {
    const Request& request = requests_[prefetched_];
    const PlannedWork& planned = request.planned;
    if (planned.value == nullptr) continue;
    const bool changes = request.command->has(kWrite) && engine_.stripes.shared();
    const auto prefetch = [&](const auto& filter) {
      for (const filters::ItemHash& hash : planned.hashes) {
        filter.prefetch(hash);
        if (changes) engine_.stripes.prefetch(filter.stripe_of(hash));
      }
    };
    if (planned.value->kind() == ValueKind::kBloom) {
      prefetch(static_cast<BloomValue*>(planned.value)->filter());
    } else {
      prefetch(static_cast<SpectralValue*>(planned.value)->filter());
    }
  }
}

void Worker::run_batch() {
  prefetch_planned();
  for (const Request& request : std::span(requests_.get(), requests_used_)) {
    Connection& connection = *request.connection;
    Session& session = connection.session;
    if (connection.closing() || session.close_after_reply) continue;
    const size_t begin = output_.size();
    dispatcher_.execute(session, {args_.data() + request.first_arg, request.argc}, request.command,
                        request.planned, output_);
    if (output_.size() > begin || session.close_after_reply) {
      if (!outputs_.empty() && outputs_.back().connection == &connection) {
        outputs_.back().end = output_.size();
      } else {
        outputs_.push_back({&connection, begin, output_.size()});
      }
    }
    if (session.compact_reply != nullptr) compact_ = std::move(session.compact_reply);
    if (compact_ != nullptr || output_.size() > kOutputBytes) write_outputs(lsn_to_wait_for());
  }
  requests_used_ = prefetched_ = prefetched_hashes_ = 0;
  args_.truncate(0);
  hashes_.clear();
  last_entry_ = nullptr;
}

// --- write ---

// What must be durable before a reply to anything that has run so far may leave; 0: nothing more
// than is. Inside the world lock.
persistence::Lsn Worker::lsn_to_wait_for() {
  persistence::Log* log = engine_.journal.log();
  const Config& config = engine_.config;
  if (log == nullptr || !config.appendonly || config.appendfsync == AppendFsync::kNo) return 0;
  // Nothing has changed in this batch; what it saw is in memory, and that is all there is now.
  if (dispatcher_.log_fails()) return 0;
  if (config.appendfsync == AppendFsync::kEverySecond &&
      !(dispatcher_.ran_writes() && log->sync_is_late())) {
    return 0;
  }
  const persistence::Lsn end = log->end();
  if (log->durable() >= end) return 0;
  wanted_lsn_ = end;
  return end;
}

void Worker::write_outputs(persistence::Lsn lsn) {
  if (outputs_.empty()) return;
  if (lsn == 0 && !held_.empty()) send_past_held();
  if (!outputs_.empty() && (lsn != 0 || !held_.empty())) {
    hold_outputs(lsn);
    return;
  }
  if (!outputs_.empty()) send_outputs(output_, outputs_, std::move(compact_));
  outputs_.clear();
  output_.clear();
  if (output_.capacity() > 4 * kOutputBytes) output_.release();
}

void Worker::send_outputs(const protocol::ReplyBuffer& buffer, const std::vector<Output>& outputs,
                          std::unique_ptr<CompactReply> compact) {
  for (const Output& output : outputs) {
    if (output.connection == nullptr) continue;
    output.connection->send(buffer.view().substr(output.begin, output.end - output.begin));
  }
  Connection* last = outputs.back().connection;
  if (compact != nullptr && last != nullptr) last->send_compactly(std::move(*compact));
  // A connection may have several outputs: only now has it sent the last one.
  for (const Output& output : outputs) {
    Connection* connection = output.connection;
    if (connection != nullptr && connection->session.close_after_reply &&
        connection->held_outputs == 0) {
      connection->close_after_output();
    }
  }
}

// --- once a second ---

// Whether an unfinished request has gained too little for too long: a client that sends a byte now
// and then would hold its connection for ever.
bool Worker::stalls(Connection& connection, int64_t now_ms, int64_t limit_ms) {
  const size_t size = connection.unfinished_input().size();
  if (size == 0) return false;
  if (size >= connection.progress_bytes + kProgressBytes) {
    connection.progress_bytes = size;
    connection.progress_ms = now_ms;
  }
  return now_ms - connection.progress_ms >= limit_ms;
}

void Worker::background_round() {
  release_idle_memory();
  InsideWorld inside(engine_.world, member_);
  const Config& config = engine_.config;
  const int64_t now_ms = engine_.clock.wall_ms();
  const int64_t idle_limit_ms = static_cast<int64_t>(config.timeout_s) * 1000;
  const int64_t stall_limit_ms = static_cast<int64_t>(config.request_timeout_s) * 1000;
  for (auto it = connections_.begin(); it != connections_.end();) {
    Connection& connection = *it->second;
    ++it;  // close() takes it out of the map
    ClientRecord& record = *connection.session.record;
    if (connection.kept_waiting()) {
      // Its time begins when it has its answer.
      record.active_ms.store(now_ms, std::memory_order_relaxed);
      connection.progress_ms = now_ms;
      continue;
    }
    const int64_t idle_ms = now_ms - record.active_ms.load(std::memory_order_relaxed);
    if (idle_limit_ms > 0 && idle_ms >= idle_limit_ms && !record.has_flag(kClientMonitor)) {
      log_verbose("Closing idle client id={}", record.id);
      connection.close();
    } else if (stall_limit_ms > 0 && stalls(connection, now_ms, stall_limit_ms)) {
      log_warning("Client id={} addr={} closed: its request stalls", record.id, record.address);
      connection.close();
    } else {
      connection.check_soft_output_limit(now_ms);
    }
  }
}

}  // namespace iris::server
