#include "comm/collectives.h"

#include <cstdint>

#include "comm/tags.h"

// Collectives consist of messages from rank to rank. Broadcast, barrier and sum use one binomial
// tree: place p sends to its children p + 1, p + 2, p + 4, … below its lowest set bit, so a message
// passes at most ⌈log2 ranks⌉ links one after another, and no rank has more children than that. A
// barrier is a token that rises to the root once all children's have come, and falls again. A sum
// rises and falls in the same way. It needs no fixed order of additions, because at most one rank's
// number is not 0.
//
// gather() sends straight to rank 0, which takes the ranks in order: texts differ in length, and
// collecting them in a tree would send most of them several times.
//
// Messages of one collective can't meet those of the next one: an edge and a tag keep their order,
// and every rank calls collectives in the same order.

namespace penstock::comm {
namespace {

/// A binomial tree with rank `root` at its top, of depth at most ⌈log2 ranks⌉. Places count from
/// the root; the parent of place p is p without its lowest set bit.
struct Tree {
  int place, size, root;

  Tree(const Communicator& communicator, int root)
      : place((communicator.rank() - root + communicator.size()) % communicator.size()),
        size(communicator.size()),
        root(root) {}
  int lowest_bit() const { return place == 0 ? size : place & -place; }
  int rank_of(int other) const { return (other + root) % size; }
  int parent() const { return rank_of(place - lowest_bit()); }
  std::vector<int> children() const {
    std::vector<int> ranks;
    for (int bit = 1; bit < lowest_bit() && place + bit < size; bit *= 2)
      ranks.push_back(rank_of(place + bit));
    return ranks;
  }
};

void send_now(Communicator& communicator, const Message& message, std::span<const std::byte> data) {
  wait(communicator, *communicator.send(message, data));
}

void receive_now(Communicator& communicator, const Message& message, std::span<std::byte> data) {
  wait(communicator, *communicator.receive(message, data));
}

void broadcast_on(Communicator& communicator, std::span<std::byte> data, int root, int tag,
                  const char* what) {
  const Tree tree(communicator, root);
  if (tree.place != 0) receive_now(communicator, {tree.parent(), tag, what}, data);
  std::vector<std::unique_ptr<Transfer>> sends;
  for (int child : tree.children()) sends.push_back(communicator.send({child, tag, what}, data));
  for (const auto& send : sends) wait(communicator, *send);
}

}  // namespace

void barrier(Communicator& communicator) {
  const Tree tree(communicator, 0);
  std::byte token{};
  for (int child : tree.children())
    receive_now(communicator, {child, tags::barrier, "barrier"}, {&token, 1});
  if (tree.place != 0)
    send_now(communicator, {tree.parent(), tags::barrier, "barrier"}, {&token, 1});
  broadcast_on(communicator, {&token, 1}, 0, tags::barrier, "barrier");
}

void broadcast(Communicator& communicator, std::span<std::byte> data, int root) {
  broadcast_on(communicator, data, root, tags::broadcast, "broadcast");
}

std::string broadcast(Communicator& communicator, const std::string& text, int root) {
  std::uint64_t length = text.size();
  broadcast(communicator, std::as_writable_bytes(std::span(&length, 1)), root);
  std::string result = communicator.rank() == root ? text : std::string(length, '\0');
  broadcast(communicator, std::as_writable_bytes(std::span(result)), root);
  return result;
}

std::vector<std::string> gather(Communicator& communicator, std::string_view text) {
  std::uint64_t length = text.size();
  const auto length_bytes = std::as_writable_bytes(std::span(&length, 1));
  if (communicator.rank() != 0) {
    const Message message{0, tags::gather, "gather"};
    send_now(communicator, message, length_bytes);
    send_now(communicator, message, std::as_bytes(std::span(text)));
    return {};
  }
  std::vector<std::string> texts = {std::string(text)};
  for (int rank = 1; rank < communicator.size(); ++rank) {
    const Message message{rank, tags::gather, "gather"};
    receive_now(communicator, message, length_bytes);
    std::string& received = texts.emplace_back(length, '\0');
    receive_now(communicator, message, std::as_writable_bytes(std::span(received)));
  }
  return texts;
}

void sum_disjoint(Communicator& communicator, std::span<double> values) {
  const Tree tree(communicator, 0);
  std::vector<double> other(tree.children().empty() ? 0 : values.size());
  for (double& value : values) value += 0.0;  // -0 becomes +0, also with a single rank
  for (int child : tree.children()) {
    receive_now(communicator, {child, tags::sum, "sum"}, std::as_writable_bytes(std::span(other)));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += other[i];
  }
  if (tree.place != 0)
    send_now(communicator, {tree.parent(), tags::sum, "sum"}, std::as_bytes(values));
  broadcast_on(communicator, std::as_writable_bytes(values), 0, tags::sum, "sum");
}

}  // namespace penstock::comm
