#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "runtime/data/audio/audio_source.h"
#include "runtime/data/remote/remote_files.h"

namespace penstock::runtime {

/// The recordings of a manifest that augmentation draws from. Thread-safe.
struct SoundList {
  std::uint64_t count = 0;
  AudioSources at = {};                     // by their place in the manifest, from 0 on
  std::shared_ptr<RemoteFiles> files = {};  // opens those that lie on servers
  std::string hash = {};  // of file names, segments and lengths, in order; "" without recordings
};

/// The recordings of augment.rooms and augment.noise. A list is empty if its key is.
struct AugmentSounds {
  SoundList rooms = {}, noises = {};
};

/// Returns the hash of each list that has recordings, by the key that names it.
[[nodiscard]] std::map<std::string, std::string> sound_hashes(const AugmentSounds& sounds);

}  // namespace penstock::runtime
