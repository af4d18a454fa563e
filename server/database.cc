#include "server/database.h"

#include <bit>
#include <random>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "filters/check.h"

namespace iris::server {

namespace {

// Random per process, so that nobody can craft keys that crowd one slot.
uint64_t key_hash_seed() {
  static const uint64_t seed = [] {
    std::random_device device;
    return (static_cast<uint64_t>(device()) << 32) | device();
  }();
  return seed;
}

}  // namespace

Database::Database() = default;
Database::~Database() = default;
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;

HashedKey Database::hashed(std::string_view name) {
  return {name, XXH3_64bits_withSeed(name.data(), name.size(), key_hash_seed())};
}

Entry* Database::find(HashedKey key) {
  if (!slots_) return nullptr;
  Map& map = slots_[slot_of(key.hash)].map;
  auto found = map.find(key.name, key.hash);
  return found == map.end() ? nullptr : &found.value();
}

Entry& Database::insert(HashedKey key, Entry entry) {
  if (!slots_) slots_ = std::make_unique<Slot[]>(kSlots);
  const uint32_t index = slot_of(key.hash);
  Slot& slot = slots_[index];
  if (entry.expire_at_ms >= 0) {
    slot.volatile_keys++;
    volatile_keys_++;
  }
  auto [place, inserted] = slot.map.emplace(std::string(key.name), std::move(entry));
  CHECK(inserted);
  used_[index / 64] |= 1ull << (index % 64);
  size_++;
  return place.value();
}

Entry Database::remove(HashedKey key) {
  const uint32_t index = slot_of(key.hash);
  Slot& slot = slots_[index];
  auto found = slot.map.find(key.name, key.hash);
  CHECK(found != slot.map.end());
  Entry entry = std::move(found.value());
  slot.map.erase(found);
  if (entry.expire_at_ms >= 0) {
    slot.volatile_keys--;
    volatile_keys_--;
  }
  if (slot.map.empty()) {
    slot.map = empty_map();  // the memory of a slot that was once large
    used_[index / 64] &= ~(1ull << (index % 64));
  }
  size_--;
  return entry;
}

void Database::set_expiry(HashedKey key, Entry& entry, int64_t expire_at_ms) {
  const int change =
      static_cast<int>(expire_at_ms >= 0) - static_cast<int>(entry.expire_at_ms >= 0);
  entry.expire_at_ms = expire_at_ms;
  slots_[slot_of(key.hash)].volatile_keys += static_cast<uint64_t>(change);
  volatile_keys_ += static_cast<uint64_t>(change);
}

uint64_t Database::overhead_bytes() const {
  // A map is between two and four fifths full when it has grown, three on average.
  constexpr double kPlacesPerKey = 5.0 / 3.0;
  if (!slots_) return 0;
  const double places = static_cast<double>(size_) * kPlacesPerKey;
  return kSlots * sizeof(Slot) +
         static_cast<uint64_t>(places) * (sizeof(Map::value_type) + sizeof(uint64_t));
}

uint32_t Database::next_used_slot(uint32_t slot) const {
  for (uint32_t word = slot / 64; word < used_.size(); word++) {
    uint64_t bits = used_[word];
    if (word == slot / 64) bits &= ~0ull << (slot % 64);
    if (bits != 0) return word * 64 + static_cast<uint32_t>(std::countr_zero(bits));
  }
  return kSlots;
}

uint64_t Database::slot_volatile_keys(uint32_t slot) const {
  return slots_ ? slots_[slot].volatile_keys : 0;
}

}  // namespace iris::server
