#pragma once

#include <string>

namespace penstock::partition {

/// Returns true if a report with so many replicas of so many passes is readable and not too large.
bool has_room_for(int replicas, int passes);

/// Returns, for example, "conv1" or "conv1 to rnn2 (5)". Long names are shortened.
std::string layer_names(const std::string& first, const std::string& last, int count);

}  // namespace penstock::partition
