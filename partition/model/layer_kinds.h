#pragma once

#include <span>
#include <string>
#include <vector>

#include "partition/model/layer_sequence.h"

namespace penstock::partition {

/// Of each layer what its plan, whatever the lengths, and so its costs follow from, in words: what
/// enters it, what leaves it, parameters, operations, and what it keeps. Layers of equal words are
/// of one kind.
std::vector<std::string> declared_layers(const LayerSequence& sequence,
                                         const layers::BackendSizes& sizes);

/// Of each layer the number of its kind, from 0.
std::vector<int> layer_kinds(const LayerSequence& sequence, const layers::BackendSizes& sizes);

}  // namespace penstock::partition
