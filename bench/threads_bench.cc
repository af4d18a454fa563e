// How much a second thread adds when all threads work on one hot key: requests go straight into
// dispatchers, without sockets, so the figure is that of what is shared (the world lock, the
// keyspace, the filter with its stripes and its item count) and not of the kernel's network.
//
//   driver 0 -> dispatcher 0 --+
//                              +--> one engine, one key: 10,000,000 items at 1 %
//   driver 1 -> dispatcher 1 --+
//
// Each driver is a member of the world lock and works as a worker does: a batch of requests inside
// the lock, first planned (key found, item hashed, memory asked for), then executed. Writing an
// item's digits stands for parsing it. Mixes: lookups only, half and half (also within a batch),
// adds only, most of them of items that are new.
//
// Throughput is told twice: by the wall, and by the CPU time of the drivers. The second is the
// steadier one where others use the machine, and waiting at a spin lock counts in both.
//
//     threads_bench [SECONDS [ROUNDS]]      CSV, medians of the rounds; runs alternate
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/loadgen/item_bytes.h"
#include "bench/loadgen/random.h"
#include "filters/check.h"
#include "server/bloom_value.h"
#include "server/dispatcher.h"
#include "server/engine.h"
#include "server/idle_control.h"

namespace iris::server {
namespace {

constexpr size_t kBatchRequests = 128;  // as in a worker
constexpr size_t kItemBytes = 12;
constexpr uint64_t kItems = 10'000'000;
constexpr std::string_view kKey = "hot";
constexpr size_t kSetupMember = 0;
constexpr uint32_t kMostThreads = 16;

struct Throughput {
  double by_wall = 0;  // requests a second
  double by_cpu = 0;   // requests a second of each driver's CPU time, added up
};

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// One thread's way into the engine.
class Driver {
 public:
  Driver(Engine& engine, size_t member, uint64_t adds_of_ten)
      : engine_(engine),
        member_(member),
        adds_of_ten_(adds_of_ten),
        dispatcher_(engine, member),
        random_(member + 1),
        exists_(engine.commands.find("BF.EXISTS")),
        add_(engine.commands.find("BF.ADD")) {
    session_.record = engine.clients.add(-1, static_cast<uint32_t>(member), "", "", 0);
    session_.authenticated = true;
  }
  ~Driver() { engine_.clients.remove(session_.record->id); }
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  void run(const std::atomic<bool>& go, const std::atomic<bool>& stop) {
    while (!go.load(std::memory_order_acquire)) {
    }
    const double wall = seconds_of(CLOCK_MONOTONIC);
    const double cpu = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    uint64_t requests = 0;
    for (; !stop.load(std::memory_order_relaxed); requests += kBatchRequests) run_batch();
    const auto count = static_cast<double>(requests);
    throughput_.by_wall = count / (seconds_of(CLOCK_MONOTONIC) - wall);
    throughput_.by_cpu = count / (seconds_of(CLOCK_THREAD_CPUTIME_ID) - cpu);
  }

  // For setting up: one command, whose reply must be +OK or a number.
  void run_command(const std::vector<std::string_view>& args) {
    InsideWorld inside(engine_.world, member_);
    dispatcher_.begin_batch(engine_.clock.wall_ms());
    dispatcher_.execute(session_, args, engine_.commands.find(args[0]), PlannedWork{}, output_);
    dispatcher_.end_batch();
    CHECK(output_.data()[0] != '-');
    output_.clear();
  }

  const Throughput& throughput() const { return throughput_; }

 private:
  struct Request {
    const Command* command;
    std::array<std::string_view, 3> args;
    PlannedWork planned;
  };

  void run_batch() {
    InsideWorld inside(engine_.world, member_);
    dispatcher_.begin_batch(engine_.clock.wall_ms());
    for (size_t i = 0; i < kBatchRequests; ++i) plan(i);
    for (const Request& request : requests_) {
      dispatcher_.execute(session_, request.args, request.command, request.planned, output_);
    }
    dispatcher_.end_batch();
    CHECK(output_.size() == 4 * kBatchRequests);  // ":1\r\n" or ":0\r\n" each
    output_.clear();
  }

  void plan(size_t i) {
    char* const item = items_.data() + i * kItemBytes;
    loadgen::write_decimal(item, kItemBytes, random_.below(kItems));
    const Command* const command = random_.below(10) < adds_of_ten_ ? add_ : exists_;
    Entry* const entry =
        engine_.keyspace.find(session_.db, Database::hashed(kKey), dispatcher_.now_ms());
    const auto& filter = static_cast<BloomValue&>(*entry->value).filter();
    hashes_[i] = filter.hash({item, kItemBytes});
    filter.prefetch(hashes_[i]);
    if (command == add_) engine_.stripes.prefetch(filter.stripe_of(hashes_[i]));
    entry->touch(dispatcher_.now_ms());
    requests_[i] = {command,
                    {command->full_name, kKey, {item, kItemBytes}},
                    {entry->value.get(), {&hashes_[i], 1}, engine_.keyspace.generation(), 0}};
  }

  Engine& engine_;
  const size_t member_;
  const uint64_t adds_of_ten_;
  Dispatcher dispatcher_;
  Session session_;
  loadgen::Random random_;
  const Command* const exists_;
  const Command* const add_;
  protocol::ReplyBuffer output_;
  std::array<char, kBatchRequests * kItemBytes> items_{};
  std::array<filters::ItemHash, kBatchRequests> hashes_{};
  std::array<Request, kBatchRequests> requests_{};
  Throughput throughput_;
};

// Thread i to core i, so that two threads do not share one.
void pin_to(std::thread& thread, size_t core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  (void)pthread_setaffinity_np(thread.native_handle(), sizeof cores, &cores);  // as well as it goes
}

Throughput measure(uint32_t threads, uint64_t adds_of_ten, double seconds) {
  Clock clock;
  IdleControl control;
  RunFacts facts;
  facts.threads = threads;
  Engine engine(Config{}, facts, clock, control);
  std::vector<std::unique_ptr<Driver>> drivers;
  for (size_t i = 0; i < threads; ++i) {
    drivers.push_back(std::make_unique<Driver>(engine, i, adds_of_ten));
  }
  const std::string items = std::to_string(kItems);
  drivers[kSetupMember]->run_command({"BF.RESERVE", kKey, "0.01", items});
  // Memory that was never written is one page of zeros, which every cache holds.
  for (uint64_t n = 0; n < kItems / 10; ++n) {
    char item[kItemBytes];
    loadgen::write_decimal(item, kItemBytes, n);
    drivers[kSetupMember]->run_command({"BF.ADD", kKey, {item, kItemBytes}});
  }

  std::atomic<bool> go{false};
  std::atomic<bool> stop{false};
  std::vector<std::thread> running;
  for (size_t i = 0; i < threads; ++i) {
    running.emplace_back([&, i] { drivers[i]->run(go, stop); });
    pin_to(running.back(), i);
  }
  go.store(true, std::memory_order_release);
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  stop.store(true, std::memory_order_relaxed);
  for (std::thread& thread : running) thread.join();

  Throughput sum;
  for (const auto& driver : drivers) {
    sum.by_wall += driver->throughput().by_wall;
    sum.by_cpu += driver->throughput().by_cpu;
  }
  return sum;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Mix {
  const char* name;
  uint64_t adds_of_ten;
};
constexpr std::array<Mix, 3> kMixes = {
    {{"BF.EXISTS", 0}, {"BF.EXISTS and BF.ADD", 5}, {"BF.ADD", 10}}};

// 1, 2, 4 and so on, as many as there are cores.
std::vector<uint32_t> thread_counts() {
  std::vector<uint32_t> counts;
  const uint32_t most = std::clamp(std::thread::hardware_concurrency(), 1u, kMostThreads);
  for (uint32_t threads = 1; threads <= most; threads *= 2) counts.push_back(threads);
  return counts;
}

void run_mix(const Mix& mix, double seconds, int rounds) {
  const std::vector<uint32_t> counts = thread_counts();
  std::vector<std::vector<double>> by_wall(counts.size()), by_cpu(counts.size());
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < counts.size(); ++i) {
      const Throughput throughput = measure(counts[i], mix.adds_of_ten, seconds);
      by_wall[i].push_back(throughput.by_wall);
      by_cpu[i].push_back(throughput.by_cpu);
    }
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    const double wall = median(by_wall[i]);
    const double cpu = median(by_cpu[i]);
    std::printf("%s,%" PRIu32 ",%.0f,%.0f,%.2f,%.2f\n", mix.name, counts[i], wall, cpu,
                wall / median(by_wall[0]), cpu / median(by_cpu[0]));
    std::fflush(stdout);
  }
}

int run(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 3;
  if (!(seconds > 0 && seconds <= 60) || rounds < 1 || rounds > 100) {
    std::fprintf(stderr, "usage: threads_bench [SECONDS, above 0 to 60 [ROUNDS, 1 to 100]]\n");
    return 2;
  }
  std::printf("mix,threads,by_wall,by_cpu,wall_ratio,cpu_ratio\n");
  for (const Mix& mix : kMixes) run_mix(mix, seconds, rounds);
  return 0;
}

}  // namespace
}  // namespace iris::server

int main(int argc, char** argv) {
  return iris::server::run(argc, argv);
}
