//! Runs the operations of vaultrs, and prints a line of JSON for each. The environment is that of ../hvac/driver.py.

use serde_json::json;
use std::collections::HashMap;
use std::env;
use std::error::Error;
use std::fmt::Debug;
use std::future::Future;
use vaultrs::api::auth::approle::requests::{GenerateNewSecretIDRequest, SetAppRoleRequest};
use vaultrs::api::auth::kubernetes::requests::{ConfigureKubernetesAuthRequest, CreateKubernetesRoleRequest};
use vaultrs::api::auth::oidc::requests::{SetConfigurationRequest, SetRoleRequest};
use vaultrs::api::auth::userpass::requests::CreateUserRequest;
use vaultrs::api::kv2::requests::SetConfigurationRequest as KvConfigurationRequest;
use vaultrs::api::kv2::requests::{SetSecretMetadataRequest, SetSecretRequestOptions};
use vaultrs::api::sys::requests::EnableEngineRequest;
use vaultrs::api::token::requests::CreateTokenRequest;
use vaultrs::auth::{approle, kubernetes, oidc, userpass};
use vaultrs::client::{VaultClient, VaultClientSettingsBuilder};
use vaultrs::error::ClientError;
use vaultrs::identity::{entity, group};
use vaultrs::{kv1, kv2, sys, token};

type Outcome = Result<(), Box<dyn Error>>;

fn given(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

fn client(token: &str) -> Result<VaultClient, ClientError> {
    let settings = VaultClientSettingsBuilder::default().address(given("VAULT_ADDR")).token(token).build();
    VaultClient::new(settings.expect("the address is a URL"))
}

fn expect<T: PartialEq + Debug>(seen: T, wanted: T) -> Outcome {
    if seen == wanted {
        return Ok(());
    }
    Err(format!("expected {wanted:?}, received {seen:?}").into())
}

fn expect_refusal<T>(result: Result<T, ClientError>, status: u16) -> Outcome {
    match result {
        Err(ClientError::APIError { code, .. }) => expect(code, status),
        Err(error) => Err(error.into()),
        Ok(_) => Err("the call was accepted".into()),
    }
}

fn chain(error: &dyn Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", chain(source)),
        None => error.to_string(),
    }
}

async fn operation(name: &str, body: impl Future<Output = Outcome>) -> Outcome {
    reqwest::Client::new().put(given("CONTROL_URL")).query(&[("operation", name)]).send().await?;
    let line = match body.await {
        Ok(()) => json!({ "operation": name }),
        Err(error) => json!({ "operation": name, "error": described(error.as_ref()) }),
    };
    println!("{line}");
    Ok(())
}

/// With the server's errors, which the text of a `ClientError` leaves out.
fn described(error: &(dyn Error + 'static)) -> String {
    match error.downcast_ref::<ClientError>() {
        Some(ClientError::APIError { code, errors }) => format!("{code}: {}", errors.join(", ")),
        _ => chain(error),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let vault = &client(&given("VAULT_TOKEN"))?;
    let rules = r#"path "auth/token/lookup-self" { capabilities = ["read"] }"#;

    operation("read the health", async { expect(sys::health(vault).await?.sealed, false) }).await?;
    operation("write, read, list and delete a policy", async {
        sys::policy::set(vault, "job", rules).await?;
        expect(sys::policy::read(vault, "job").await?.rules.as_str(), rules)?;
        sys::policy::set(vault, "gone", rules).await?;
        sys::policy::delete(vault, "gone").await?;
        expect(sys::policy::list(vault).await?.policies.contains(&"gone".to_string()), false)
    })
    .await?;
    operation("enable, list and disable an auth method", async {
        sys::auth::enable(vault, "ci", "jwt", None).await?;
        expect(sys::auth::list(vault).await?["ci/"].mount_type.as_str(), "jwt")?;
        Ok(sys::auth::disable(vault, "ci").await?)
    })
    .await?;
    operation("configure the jwt method and write a role", async {
        sys::auth::enable(vault, "jobs", "jwt", None).await?;
        let mut config = SetConfigurationRequest::builder();
        config.jwt_validation_pubkeys(vec![given("JWT_KEY")]);
        oidc::config::set(vault, "jobs", Some(&mut config)).await?;
        let mut role = SetRoleRequest::builder();
        role.role_type("jwt").bound_audiences(vec!["ci".to_string()]).token_policies(vec!["job".to_string()]);
        oidc::role::set(vault, "jobs", "build", "sub", vec![], Some(&mut role)).await?;
        expect(oidc::role::list(vault, "jobs").await?.keys, vec!["build".to_string()])
    })
    .await?;
    operation("log in with a JWT", async {
        let anonymous = client("")?;
        let login = oidc::login(&anonymous, "jobs", &given("JWT"), Some("build".to_string())).await?;
        expect(login.token_policies, vec!["default".to_string(), "job".to_string()])?;
        let own = client(&login.client_token)?;
        expect(token::lookup_self(&own).await?.path.as_str(), "auth/jobs/login")?;
        Ok(token::revoke_self(&own).await?)
    })
    .await?;
    operation("log in with a JWT that the role refuses", async {
        expect_refusal(oidc::login(&client("")?, "jobs", "a.b.c", Some("build".to_string())).await, 400)
    })
    .await?;
    operation("create, look up, renew and revoke a token", async {
        let mut request = CreateTokenRequest::builder();
        request.policies(vec!["job".to_string()]).ttl("1h").renewable(true);
        let made = token::new(vault, Some(&mut request)).await?;
        let found = token::lookup_accessor(vault, &made.accessor).await?;
        expect(found.policies, vec!["default".to_string(), "job".to_string()])?;
        expect(token::renew(vault, &made.client_token, Some("30m")).await?.lease_duration, 1800)?;
        token::revoke_accessor(vault, &made.accessor).await?;
        expect_refusal(token::lookup(vault, &made.client_token).await, 403)
    })
    .await?;
    operation("write, read and delete an entity", async {
        entity::create_or_update_by_name(vault, "ada", None).await?;
        expect(entity::read_by_name(vault, "ada").await?.name.as_str(), "ada")?;
        Ok(entity::delete_by_name(vault, "ada").await?)
    })
    .await?;
    operation("write, read and delete a group", async {
        group::create_or_update_by_name(vault, "builders", None).await?;
        expect(group::read_by_name(vault, "builders").await?.name.as_str(), "builders")?;
        Ok(group::delete_by_name(vault, "builders").await?)
    })
    .await?;
    kv_operations(vault).await?;
    login_operations(vault).await?;
    operation("encrypt with the transit engine", async {
        Ok(sys::mount::enable(vault, "transit", "transit", None).await?)
    })
    .await
}

type Values = HashMap<String, String>;

fn values<const N: usize>(pairs: [(&str, &str); N]) -> Values {
    pairs.map(|(name, value)| (name.to_string(), value.to_string())).into()
}

fn strings<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_string).into()
}

async fn kv_operations(vault: &VaultClient) -> Outcome {
    operation("write, read, list and delete a secret (kv, version 1)", async {
        sys::mount::enable(vault, "kv1", "kv", None).await?;
        kv1::set(vault, "kv1", "team/app", &HashMap::from([("password", "p")])).await?;
        expect(kv1::get::<Values>(vault, "kv1", "team/app").await?["password"].as_str(), "p")?;
        expect(kv1::list(vault, "kv1", "team").await?.data.keys, strings(["app"]))?;
        kv1::delete(vault, "kv1", "team/app").await?;
        expect_refusal(kv1::get::<Values>(vault, "kv1", "team/app").await, 404)
    })
    .await?;
    operation("configure a mount (kv, version 2)", async {
        let mut engine = EnableEngineRequest::builder();
        engine.options(values([("version", "2")]));
        sys::mount::enable(vault, "kv2", "kv", Some(&mut engine)).await?;
        let mut settings = KvConfigurationRequest::builder();
        settings.max_versions(5u64).delete_version_after("1h");
        kv2::config::set(vault, "kv2", Some(&mut settings)).await?;
        expect(kv2::config::read(vault, "kv2").await?.delete_version_after.as_str(), "1h0m0s")
    })
    .await?;
    let password = async |version| {
        let secret: Values = kv2::read_version(vault, "kv2", "app", version).await?;
        Ok::<_, ClientError>(secret["password"].clone())
    };
    operation("write and read versions of a secret (kv, version 2)", async {
        for value in ["p1", "p2"] {
            kv2::set(vault, "kv2", "app", &values([("password", value)])).await?;
        }
        expect(kv2::read(vault, "kv2", "app").await?, values([("password", "p2")]))?;
        expect(password(1).await?.as_str(), "p1")
    })
    .await?;
    operation("write a secret with check-and-set (kv, version 2)", async {
        let set = async |cas| {
            let options = SetSecretRequestOptions { cas };
            kv2::set_with_options(vault, "kv2", "app", &values([("password", "p3")]), options).await
        };
        expect(set(2).await?.version, 3)?;
        expect_refusal(set(2).await, 400)
    })
    .await?;
    operation("delete, undelete and destroy versions of a secret (kv, version 2)", async {
        kv2::delete_latest(vault, "kv2", "app").await?;
        // a 404 without errors, which the client cannot decode
        expect(kv2::read::<Values>(vault, "kv2", "app").await.is_err(), true)?;
        kv2::undelete_versions(vault, "kv2", "app", vec![3]).await?;
        expect(password(3).await?.as_str(), "p3")?;
        kv2::delete_versions(vault, "kv2", "app", vec![1, 2]).await?;
        kv2::destroy_versions(vault, "kv2", "app", vec![1]).await?;
        expect(kv2::read_metadata(vault, "kv2", "app").await?.versions["1"].destroyed, true)
    })
    .await?;
    operation("write and read the metadata of a secret (kv, version 2)", async {
        let mut settings = SetSecretMetadataRequest::builder();
        settings.max_versions(3u64).custom_metadata(values([("owner", "a")]));
        kv2::set_metadata(vault, "kv2", "app", Some(&mut settings)).await?;
        let metadata = kv2::read_metadata(vault, "kv2", "app").await?;
        expect(metadata.custom_metadata, Some(values([("owner", "a")])))?;
        expect(metadata.max_versions, 3)
    })
    .await?;
    operation("list secrets and delete one with all its versions (kv, version 2)", async {
        kv2::set(vault, "kv2", "team/app", &values([("password", "p")])).await?;
        expect(kv2::list(vault, "kv2", "").await?, strings(["app", "team/"]))?;
        kv2::delete_metadata(vault, "kv2", "app").await?;
        expect(kv2::list(vault, "kv2", "").await?, strings(["team/"]))
    })
    .await
}

async fn login_operations(vault: &VaultClient) -> Outcome {
    let job_policies = || strings(["default", "job"]);
    operation("write, read, list and delete an AppRole", async {
        sys::auth::enable(vault, "approle", "approle", None).await?;
        let mut role = SetAppRoleRequest::builder();
        role.token_policies(strings(["job"])).token_ttl("10m");
        approle::role::set(vault, "approle", "job", Some(&mut role)).await?;
        expect(approle::role::read(vault, "approle", "job").await?.token_ttl, 600)?;
        approle::role::set(vault, "approle", "gone", None).await?;
        approle::role::delete(vault, "approle", "gone").await?;
        expect(approle::role::list(vault, "approle").await?.keys, strings(["job"]))?;
        approle::role::update_id(vault, "approle", "job", "job-1").await?;
        expect(approle::role::read_id(vault, "approle", "job").await?.role_id.as_str(), "job-1")
    })
    .await?;
    operation("generate, look up, list and destroy secret ids of an AppRole", async {
        let mut request = GenerateNewSecretIDRequest::builder();
        request.metadata(r#"{"build":"7"}"#);
        let made = approle::role::secret::generate(vault, "approle", "job", Some(&mut request)).await?;
        let found = approle::role::secret::read(vault, "approle", "job", &made.secret_id).await?;
        expect(found.metadata, Some(values([("build", "7")])))?;
        let accessor = made.secret_id_accessor.as_str();
        approle::role::secret::read_accessor(vault, "approle", "job", accessor).await?;
        expect(approle::role::secret::list(vault, "approle", "job").await?.keys, strings([accessor]))?;
        approle::role::secret::delete_accessor(vault, "approle", "job", accessor).await?;
        approle::role::secret::custom(vault, "approle", "job", "chosen", None).await?;
        approle::role::secret::delete(vault, "approle", "job", "chosen").await?;
        expect_refusal(approle::role::secret::list(vault, "approle", "job").await, 404)
    })
    .await?;
    operation("log in with AppRole", async {
        let secret_id = approle::role::secret::generate(vault, "approle", "job", None).await?.secret_id;
        let login = approle::login(&client("")?, "approle", "job-1", &secret_id).await?;
        expect(login.policies, job_policies())?;
        expect(token::lookup_self(&client(&login.client_token)?).await?.path.as_str(), "auth/approle/login")?;
        expect_refusal(approle::login(&client("")?, "approle", "job-1", "wrong").await, 400)
    })
    .await?;
    operation("write, read, list and delete a user (userpass)", async {
        sys::auth::enable(vault, "userpass", "userpass", None).await?;
        let mut user = CreateUserRequest::builder();
        user.token_policies(strings(["job"])).token_ttl("10m");
        userpass::user::set(vault, "userpass", "ada", "correct horse", Some(&mut user)).await?;
        userpass::user::set(vault, "userpass", "gone", "gone", None).await?;
        userpass::user::delete(vault, "userpass", "gone").await?;
        expect(userpass::user::list(vault, "userpass").await?.keys, strings(["ada"]))?;
        expect(userpass::user::read(vault, "userpass", "ada").await?.token_policies, strings(["job"]))
    })
    .await?;
    operation("log in with a username and password", async {
        let login = async |password| userpass::login(&client("")?, "userpass", "ada", password).await;
        expect(login("correct horse").await?.policies, job_policies())?;
        userpass::user::update_password(vault, "userpass", "ada", "battery staple").await?;
        expect_refusal(login("correct horse").await, 400)?;
        login("battery staple").await?;
        Ok(())
    })
    .await?;
    operation("configure the kubernetes method and log in with the token of a service account", async {
        let cluster: serde_json::Value = serde_json::from_str(&given("CLUSTER"))?;
        let part = |name: &str| cluster[name].as_str().unwrap_or_default();
        sys::auth::enable(vault, "pods", "kubernetes", None).await?;
        // it cannot write a reviewer's token: the pod itself may ask the cluster
        let mut config = ConfigureKubernetesAuthRequest::builder();
        config.kubernetes_ca_cert(part("ca_cert").to_string()).disable_local_ca_jwt(true);
        kubernetes::configure(vault, "pods", part("host"), Some(&mut config)).await?;
        expect(kubernetes::read_config(vault, "pods").await?.kubernetes_host.as_str(), part("host"))?;
        let mut role = CreateKubernetesRoleRequest::builder();
        role.bound_service_account_names(strings(["web"])).bound_service_account_namespaces(strings(["dev"]));
        role.audience(part("audience")).token_policies(strings(["job"]));
        kubernetes::role::create(vault, "pods", "web", Some(&mut role)).await?;
        expect(kubernetes::role::list(vault, "pods").await?.keys, strings(["web"]))?;
        expect(kubernetes::role::read(vault, "pods", "web").await?.token_policies, strings(["job"]))?;
        let login = kubernetes::login(&client("")?, "pods", "web", part("jwt")).await?;
        expect(login.policies, job_policies())?;
        expect_refusal(kubernetes::login(&client("")?, "pods", "web", "a.b.c").await, 403)
    })
    .await
}
