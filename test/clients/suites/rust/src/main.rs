//! Runs the operations of vaultrs, and prints a line of JSON for each. The environment is that of ../hvac/driver.py.

use serde_json::json;
use std::collections::HashMap;
use std::env;
use std::error::Error;
use std::fmt::Debug;
use std::future::Future;
use vaultrs::api::auth::approle::requests::SetAppRoleRequest;
use vaultrs::api::auth::oidc::requests::{SetConfigurationRequest, SetRoleRequest};
use vaultrs::api::auth::userpass::requests::CreateUserRequest;
use vaultrs::api::sys::requests::EnableEngineRequest;
use vaultrs::api::token::requests::CreateTokenRequest;
use vaultrs::auth::{approle, oidc, userpass};
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
    operation("write, read, list and delete a secret (kv, version 2)", async {
        let mut engine = EnableEngineRequest::builder();
        engine.options(HashMap::from([("version".to_string(), "2".to_string())]));
        sys::mount::enable(vault, "kv2", "kv", Some(&mut engine)).await?;
        let secret = HashMap::from([("password".to_string(), "p".to_string())]);
        kv2::set(vault, "kv2", "app", &secret).await?;
        expect(kv2::read::<HashMap<String, String>>(vault, "kv2", "app").await?, secret)?;
        expect(kv2::list(vault, "kv2", "").await?, vec!["app".to_string()])?;
        Ok(kv2::delete_metadata(vault, "kv2", "app").await?)
    })
    .await?;
    operation("write, read, list and delete a secret (kv, version 1)", async {
        sys::mount::enable(vault, "kv1", "kv", None).await?;
        kv1::set(vault, "kv1", "app", &HashMap::from([("password", "p")])).await?;
        let secret = kv1::get::<HashMap<String, String>>(vault, "kv1", "app").await?;
        expect(secret["password"].as_str(), "p")?;
        Ok(kv1::delete(vault, "kv1", "app").await?)
    })
    .await?;
    operation("log in with AppRole", async {
        sys::auth::enable(vault, "approle", "approle", None).await?;
        let mut role = SetAppRoleRequest::builder();
        role.token_policies(vec!["job".to_string()]);
        approle::role::set(vault, "approle", "job", Some(&mut role)).await?;
        let role_id = approle::role::read_id(vault, "approle", "job").await?.role_id;
        let secret_id = approle::role::secret::generate(vault, "approle", "job", None).await?.secret_id;
        approle::login(&client("")?, "approle", &role_id, &secret_id).await?;
        Ok(())
    })
    .await?;
    operation("log in with a username and password", async {
        sys::auth::enable(vault, "userpass", "userpass", None).await?;
        let mut user = CreateUserRequest::builder();
        user.token_policies(vec!["job".to_string()]);
        userpass::user::set(vault, "userpass", "ada", "correct horse", Some(&mut user)).await?;
        userpass::login(&client("")?, "userpass", "ada", "correct horse").await?;
        Ok(())
    })
    .await?;
    operation("encrypt with the transit engine", async {
        Ok(sys::mount::enable(vault, "transit", "transit", None).await?)
    })
    .await
}
