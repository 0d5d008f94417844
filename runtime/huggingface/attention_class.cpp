#include "runtime/huggingface/attention_class.h"

// Class 0 of penstock's logits is in no text, and neither is the token that ends texts. So the row
// of that token becomes class 0, and the rows before it move by one. A folder with a tied head may
// hold the head's table a second time, which transformers does not read.

namespace penstock::runtime {

void complete_attention_class(Architecture& architecture) {
  for (const FixedKey& key :
       {FixedKey{"decoder.bias", "true"}, FixedKey{"decoder.kv_heads", "0"},
        FixedKey{"decoder.head_channels", "0"}, FixedKey{"decoder.embedding_scale", "1"}})
    architecture.fixed.push_back(key);
  architecture.unnamed_rows = true;
  architecture.blank_setting = "eos_token_id";
  architecture.blank_token = "<|endoftext|>";
  architecture.default_language = "en";
  architecture.unread = {"proj_out.weight"};
}

}  // namespace penstock::runtime
