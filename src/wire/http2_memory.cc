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
  functions_.free = [](void* piece, void* self) {
    static_cast<Http2Memory*>(self)->GiveBack(piece);
  };
  functions_.calloc = [](std::size_t count, std::size_t size, void* self) -> void* {
    if (size > 0 && count > std::numeric_limits<std::size_t>::max() / size) return nullptr;
    void* const piece = static_cast<Http2Memory*>(self)->Take(count * size);
    if (piece != nullptr) std::memset(piece, 0, count * size);
    return piece;
  };
  functions_.realloc = [](void* piece, std::size_t size, void* self) {
    return static_cast<Http2Memory*>(self)->Resize(piece, size);
  };
}

Http2Memory::~Http2Memory() {
  for (Shelf& shelf : shelves_) {
    while (shelf.first != nullptr) {
      Head* const next = shelf.first->next;
      std::free(shelf.first);
      shelf.first = next;
    }
  }
}

std::size_t Http2Memory::ShelfFor(std::size_t size) {
  return static_cast<std::size_t>(std::bit_width((std::max(size, kShortest) - 1) / kShortest));
}

void* Http2Memory::Take(std::size_t size) {
  const std::size_t i = ShelfFor(size);
  if (i < kShelves && shelves_[i].first != nullptr) {
    Head* const head = shelves_[i].first;
    shelves_[i].first = head->next;
    shelves_[i].held -= head->room;
    return head + 1;
  }
  const std::size_t room = i < kShelves ? kShortest << i : size;
  if (room > std::numeric_limits<std::size_t>::max() - sizeof(Head)) return nullptr;
  auto* const head = static_cast<Head*>(std::malloc(sizeof(Head) + room));
  if (head == nullptr) return nullptr;
  head->room = room;
  return head + 1;
}

void Http2Memory::GiveBack(void* piece) {
  if (piece == nullptr) return;
  Head* const head = static_cast<Head*>(piece) - 1;
  const std::size_t i = ShelfFor(head->room);
  if (i >= kShelves || shelves_[i].held + head->room > kMostHeldBytes) return std::free(head);
  head->next = shelves_[i].first;
  shelves_[i].first = head;
  shelves_[i].held += head->room;
}

void* Http2Memory::Resize(void* piece, std::size_t size) {
  if (piece == nullptr) return Take(size);
  const std::size_t room = (static_cast<Head*>(piece) - 1)->room;
  if (size <= room) return piece;
  void* const larger = Take(size);
  if (larger == nullptr) return nullptr;
  std::memcpy(larger, piece, room);
  GiveBack(piece);
  return larger;
}

}  // namespace sluice::wire
