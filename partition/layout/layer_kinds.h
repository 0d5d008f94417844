#pragma once

#include <span>
#include <string>
#include <vector>

#include "partition/layout/layer_sequence.h"

namespace penstock::partition {

/// Returns a text for each layer of everything that determines its costs: inputs, outputs,
/// parameters, operations, and saved tensors. Layers with equal texts are of one kind, for any
/// lengths. The plans compared are those of two utterances of fixed, unequal lengths.
std::vector<std::string> declared_layers(const LayerSequence& sequence,
                                         const layers::BackendSizes& sizes);

/// Returns the kind of each layer, numbered from 0.
std::vector<int> layer_kinds(const LayerSequence& sequence, const layers::BackendSizes& sizes);

}  // namespace penstock::partition
