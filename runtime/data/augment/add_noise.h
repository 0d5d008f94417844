#pragma once

#include <span>

namespace penstock::runtime {

/// Adds noise to samples, scaled so that their energies have the ratio `snr_db` in decibels, as
/// torchaudio.functional.add_noise does. Nothing is added to or of silence. Throws ShapeError if
/// the lengths differ.
void add_noise(std::span<float> samples, std::span<const float> noise, double snr_db);

/// Multiplies samples by a gain in decibels.
void apply_gain(std::span<float> samples, double gain_db);

/// Returns Σ x².
[[nodiscard]] double energy(std::span<const float> x);

}  // namespace penstock::runtime
