#include "runtime/data/augment/sound_list.h"

namespace penstock::runtime {

std::map<std::string, std::string> sound_hashes(const AugmentSounds& sounds) {
  std::map<std::string, std::string> hashes;
  if (sounds.rooms.count > 0) hashes["augment.rooms"] = sounds.rooms.hash;
  if (sounds.noises.count > 0) hashes["augment.noise"] = sounds.noises.hash;
  return hashes;
}

}  // namespace penstock::runtime
