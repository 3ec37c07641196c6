#pragma once
// HubSettings: where the hub and its cache on this machine are, and how long is waited for an
// answer. Plain data; app/machine/environment.h fills it as huggingface_hub does.

#include <string>

namespace foretoken {

struct HubSettings {
  std::string cache;                                // folder of the cache; may not exist
  std::string endpoint = "https://huggingface.co";  // HF_ENDPOINT, without a slash at its end
  std::string token;                                // HF_TOKEN; empty: none is sent
  std::string authorities;          // file of certificate authorities; empty: the system's
  bool offline = false;             // nothing is downloaded
  double stall_seconds = 10;        // HF_HUB_DOWNLOAD_TIMEOUT: without a byte
  double first_wait_seconds = 0.2;  // before the second try; doubles with each
};

}  // namespace foretoken
