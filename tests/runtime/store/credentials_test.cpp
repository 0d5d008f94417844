#include "runtime/store/credentials.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>
#include <string>

#include "base/error.h"
#include "runtime/store/store_error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

using Variables = std::map<std::string, std::string>;

Environment with(Variables variables) {
  return [variables = std::move(variables)](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  };
}

/// A home with a file of credentials.
class CredentialsFile : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(home_.path() / ".aws");
    test::write_file(file(),
                     "# keys\n[default]\naws_access_key_id = ONE\naws_secret_access_key=first=\n\n"
                     "[other]\naws_access_key_id=TWO\n  aws_secret_access_key = second\n"
                     "aws_session_token = token\n");
    ::chmod(file().c_str(), 0600);
  }
  std::filesystem::path file() const { return home_.path() / ".aws" / "credentials"; }
  Variables home() const { return {{"HOME", home_.path()}}; }

 private:
  test::TemporaryFolder home_;
};

TEST_F(CredentialsFile, IsReadByProfile) {
  const Credentials keys = find_credentials(with(home()));
  EXPECT_EQ(keys.access_key, "ONE");
  EXPECT_EQ(keys.secret_key, "first=");
  EXPECT_EQ(keys.session_token, "");
  Variables other = home();
  other["AWS_PROFILE"] = "other";
  EXPECT_EQ(find_credentials(with(other)).secret_key, "second");
  EXPECT_EQ(find_credentials(with(other)).session_token, "token");
}

TEST_F(CredentialsFile, YieldsToTheEnvironment) {
  Variables variables = home();
  variables["AWS_ACCESS_KEY_ID"] = "ENV";
  variables["AWS_SECRET_ACCESS_KEY"] = "hidden";
  EXPECT_EQ(find_credentials(with(variables)).access_key, "ENV");
}

TEST_F(CredentialsFile, MustBePrivate) {
  ::chmod(file().c_str(), 0640);
  const std::string message =
      test::message_of<StoreError>([&] { (void)find_credentials(with(home())); });
  EXPECT_NE(message.find("has mode 640"), std::string::npos) << message;
  EXPECT_NE(message.find("\n  chmod 600 " + file().string()), std::string::npos) << message;
  EXPECT_EQ(message.find("first"), std::string::npos) << message;
}

TEST_F(CredentialsFile, MustHaveTheProfile) {
  Variables variables = home();
  variables["AWS_PROFILE"] = "third";
  const std::string message =
      test::message_of<StoreError>([&] { (void)find_credentials(with(variables)); });
  EXPECT_NE(message.find("[third]"), std::string::npos) << message;
}

// Only what names no profile counts as no keys: a profile that is not there is a mistake.
TEST_F(CredentialsFile, MayLackTheDefaultProfile) {
  test::write_file(file(), "[other]\naws_access_key_id = TWO\naws_secret_access_key = second\n");
  EXPECT_TRUE(find_credentials(with(home())).none());
  test::write_file(file(), "[default]\naws_access_key_id = ONE\n");
  const std::string message =
      test::message_of<StoreError>([&] { (void)find_credentials(with(home())); });
  EXPECT_NE(message.find("no whole credentials: set both"), std::string::npos) << message;
}

TEST_F(CredentialsFile, IsNotReadWithoutSigning) {
  Variables variables = home();
  for (const char* yes : {"YES", "true", "1"}) {
    variables["AWS_NO_SIGN_REQUEST"] = yes;
    EXPECT_TRUE(find_credentials(with(variables)).none()) << yes;
  }
  for (const char* no : {"", "NO", "0"}) {
    variables["AWS_NO_SIGN_REQUEST"] = no;
    EXPECT_FALSE(find_credentials(with(variables)).none()) << no;
  }
  variables["AWS_NO_SIGN_REQUEST"] = "maybe";
  EXPECT_THROW((void)find_credentials(with(variables)), ConfigError);
}

TEST(Credentials, MayBeNoneButNotHalf) {
  EXPECT_TRUE(find_credentials(with({{"HOME", "/nowhere"}})).none());
  const std::string message = test::message_of<StoreError>([] {
    (void)find_credentials(with({{"AWS_SECRET_ACCESS_KEY", "hush"}}));
  });
  EXPECT_NE(message.find("no whole credentials: set both AWS_ACCESS_KEY_ID and"), std::string::npos)
      << message;
  EXPECT_EQ(message.find("hush"), std::string::npos) << message;
}

const Variables kKeys = {{"AWS_ACCESS_KEY_ID", "K"}, {"AWS_SECRET_ACCESS_KEY", "S"}};

TEST(StoreSettings, FollowProviderAndRegion) {
  const StoreSettings plain = find_settings(parse_store_url("s3://bucket/x"), with(kKeys));
  EXPECT_EQ(plain.endpoint, "https://s3.us-east-1.amazonaws.com");
  EXPECT_FALSE(plain.path_style);
  EXPECT_TRUE(plain.conditional);
  Variables variables = kKeys;
  variables["AWS_DEFAULT_REGION"] = "eu-west-3";
  EXPECT_EQ(find_settings(parse_store_url("s3://bucket/x"), with(variables)).endpoint,
            "https://s3.eu-west-3.amazonaws.com");
  const StoreSettings google = find_settings(parse_store_url("gs://bucket"), with(kKeys));
  EXPECT_EQ(google.endpoint, "https://storage.googleapis.com");
  EXPECT_TRUE(google.path_style);
  EXPECT_FALSE(google.conditional);
}

TEST(StoreSettings, TakeTheEndpointOfTheEnvironment) {
  Variables variables = kKeys;
  variables["AWS_ENDPOINT_URL"] = "http://store:9000/";
  StoreSettings settings = find_settings(parse_store_url("s3://bucket"), with(variables));
  EXPECT_EQ(settings.endpoint, "http://store:9000");
  EXPECT_TRUE(settings.path_style);
  variables["AWS_ENDPOINT_URL_S3"] = "https://own";
  EXPECT_EQ(find_settings(parse_store_url("s3://bucket"), with(variables)).endpoint, "https://own");
  for (const char* bad : {"store:9000", "https://user:pass@store", "file:///etc"}) {
    variables["AWS_ENDPOINT_URL_S3"] = bad;
    EXPECT_THROW((void)find_settings(parse_store_url("s3://bucket"), with(variables)), ConfigError);
  }
}

}  // namespace
}  // namespace penstock::runtime
