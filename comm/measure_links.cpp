#include "comm/measure_links.h"

#include "comm/collectives.h"
#include "comm/shutdown.h"
#include "comm/tags.h"

namespace penstock::comm {

void measure_both_ways(Communicator& ranks, const RankPairs& links, const OpenLink& open,
                       const std::function<void(const Way& way, LinkEnd* end)>& measure) {
  const int own = ranks.rank();
  for (const auto& [one, other] : links) {
    barrier(ranks);
    std::unique_ptr<LinkEnd> end;
    if (own == one || own == other) end = open(own == one ? other : one);
    guarded(ranks.shutdown(), [&] {  // the end can't give memory back while messages wait
      measure({one, other, own == one}, end.get());
      measure({other, one, own == other}, end.get());
    });
  }
}

void tell(Communicator& ranks, const Way& way, std::span<std::byte> what) {
  const int peer = way.sends ? way.to : way.from;
  const Message message{peer, tags::told_of_link, "effort of a measurement"};
  wait(ranks, way.sends ? *ranks.send(message, what) : *ranks.receive(message, what));
}

}  // namespace penstock::comm
