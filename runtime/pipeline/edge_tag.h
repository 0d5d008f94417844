#pragma once

namespace penstock::runtime {

/// Returns the message tag of the edge that starts at chunk `producer`: activations to the next
/// chunk, or gradients to the previous one. Throws CommError if a model has more chunks than tags.
int edge_tag(int producer, bool gradient);

}  // namespace penstock::runtime
