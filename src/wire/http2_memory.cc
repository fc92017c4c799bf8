#include "wire/http2_memory.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace sluice::wire {

Http2Memory::Http2Memory() {
  functions_.mem_user_data = this;
  functions_.malloc = [](std::size_t size, void* self) {
    return static_cast<Http2Memory*>(self)->Take(size);
  };
  functions_.free = [](void* block, void* self) {
    static_cast<Http2Memory*>(self)->GiveBack(block);
  };
  functions_.calloc = [](std::size_t count, std::size_t size, void* self) -> void* {
    if (size > 0 && count > std::numeric_limits<std::size_t>::max() / size) return nullptr;
    void* const block = static_cast<Http2Memory*>(self)->Take(count * size);
    if (block != nullptr) std::memset(block, 0, count * size);
    return block;
  };
  functions_.realloc = [](void* block, std::size_t size, void* self) {
    return static_cast<Http2Memory*>(self)->Resize(block, size);
  };
}

Http2Memory::~Http2Memory() {
  for (SizeClass& size_class : size_classes_) {
    while (size_class.first != nullptr) {
      Head* const next = size_class.first->next;
      std::free(size_class.first);
      size_class.first = next;
    }
  }
}

std::size_t Http2Memory::SizeClassFor(std::size_t size) {
  return static_cast<std::size_t>(std::bit_width((std::max(size, kShortest) - 1) / kShortest));
}

void* Http2Memory::Take(std::size_t size) {
  const std::size_t i = SizeClassFor(size);
  if (i < kSizeClasses && size_classes_[i].first != nullptr) {
    Head* const head = size_classes_[i].first;
    size_classes_[i].first = head->next;
    size_classes_[i].held -= head->capacity;
    return head + 1;
  }
  const std::size_t capacity = i < kSizeClasses ? kShortest << i : size;
  if (capacity > std::numeric_limits<std::size_t>::max() - sizeof(Head)) return nullptr;
  auto* const head = static_cast<Head*>(std::malloc(sizeof(Head) + capacity));
  if (head == nullptr) return nullptr;
  head->capacity = capacity;
  return head + 1;
}

void Http2Memory::GiveBack(void* block) {
  if (block == nullptr) return;
  Head* const head = static_cast<Head*>(block) - 1;
  const std::size_t i = SizeClassFor(head->capacity);
  if (i >= kSizeClasses || size_classes_[i].held + head->capacity > kMaxHeldBytes)
    return std::free(head);
  head->next = size_classes_[i].first;
  size_classes_[i].first = head;
  size_classes_[i].held += head->capacity;
}

void* Http2Memory::Resize(void* block, std::size_t size) {
  if (block == nullptr) return Take(size);
  const std::size_t capacity = (static_cast<Head*>(block) - 1)->capacity;
  if (size <= capacity) return block;
  void* const larger = Take(size);
  if (larger == nullptr) return nullptr;
  std::memcpy(larger, block, capacity);
  GiveBack(block);
  return larger;
}

}  // namespace sluice::wire
