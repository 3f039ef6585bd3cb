import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.springframework.vault.authentication.AppRoleAuthentication;
import org.springframework.vault.authentication.AppRoleAuthenticationOptions;
import org.springframework.vault.authentication.AppRoleAuthenticationOptions.RoleId;
import org.springframework.vault.authentication.AppRoleAuthenticationOptions.SecretId;
import org.springframework.vault.authentication.TokenAuthentication;
import org.springframework.vault.client.VaultClients;
import org.springframework.vault.client.VaultEndpoint;
import org.springframework.vault.core.VaultKeyValueOperationsSupport.KeyValueBackend;
import org.springframework.vault.core.VaultTemplate;
import org.springframework.vault.core.VaultTokenOperations;
import org.springframework.vault.support.Policy;
import org.springframework.vault.support.VaultMount;
import org.springframework.vault.support.VaultTokenRequest;
import org.springframework.vault.client.SimpleVaultEndpointProvider;
import org.springframework.vault.client.ClientHttpRequestFactoryFactory;
import org.springframework.vault.support.ClientOptions;
import org.springframework.vault.support.SslConfiguration;
import org.springframework.web.client.RestOperations;

/**
 * Runs the operations of spring-vault, and prints a line of JSON for each. The environment is that of
 * ../hvac/driver.py.
 */
public final class Driver {
  private interface Body {
    void run() throws Exception;
  }

  private static final ObjectMapper json = new ObjectMapper();
  private static final VaultEndpoint endpoint = VaultEndpoint.from(URI.create(given("VAULT_ADDR")));

  private static String given(String name) {
    return Objects.requireNonNull(System.getenv(name), name);
  }

  private static void operation(String name, Body body) throws Exception {
    String query = "?operation=" + URLEncoder.encode(name, StandardCharsets.UTF_8);
    HttpRequest begun =
        HttpRequest.newBuilder(URI.create(given("CONTROL_URL") + query))
            .PUT(HttpRequest.BodyPublishers.noBody())
            .build();
    HttpClient.newHttpClient().send(begun, BodyHandlers.discarding());
    Map<String, String> line = new LinkedHashMap<>();
    line.put("operation", name);
    try {
      body.run();
    } catch (Exception | AssertionError failure) {
      line.put("error", failure.getClass().getSimpleName() + ": " + failure.getMessage());
    }
    System.out.println(json.writeValueAsString(line));
  }

  private static void expect(Object seen, Object wanted) {
    if (!Objects.equals(seen, wanted))
      throw new AssertionError("expected " + wanted + ", received " + seen);
  }

  private static void expectRefusal(Body body) {
    try {
      body.run();
    } catch (Exception refused) {
      return;
    }
    throw new AssertionError("the call was accepted");
  }

  private static VaultTemplate client(String token) {
    return new VaultTemplate(endpoint, new TokenAuthentication(token));
  }

  public static void main(String[] args) throws Exception {
    VaultTemplate vault = client(given("VAULT_TOKEN"));

    operation(
        "read the health",
        () -> {
          expect(vault.opsForSys().health().isSealed(), false);
          expect(vault.opsForSys().isInitialized(), true);
        });
    operation(
        "read the seal status", () -> expect(vault.opsForSys().getUnsealStatus().isSealed(), false));
    operation(
        "write, read, list and delete a policy",
        () -> {
          Policy policy =
              Policy.of(
                  Policy.Rule.builder()
                      .path("auth/token/lookup-self")
                      .capability(Policy.BuiltinCapabilities.READ)
                      .build());
          vault.opsForSys().createOrUpdatePolicy("job", policy);
          expect(vault.opsForSys().getPolicyNames().contains("job"), true);
          expect(vault.opsForSys().getPolicy("job"), policy);
          vault.opsForSys().createOrUpdatePolicy("gone", policy);
          vault.opsForSys().deletePolicy("gone");
        });
    operation(
        "enable, list and disable an auth method",
        () -> {
          vault.opsForSys().authMount("ci", VaultMount.create("jwt"));
          expect(vault.opsForSys().getAuthMounts().get("ci/").getType(), "jwt");
          vault.opsForSys().authUnmount("ci");
        });
    operation(
        "configure the jwt method and write a role",
        () -> {
          vault.opsForSys().authMount("jobs", VaultMount.create("jwt"));
          vault.write("auth/jobs/config", Map.of("jwt_validation_pubkeys", List.of(given("JWT_KEY"))));
          Map<String, Object> role =
              Map.of(
                  "role_type", "jwt", "user_claim", "sub", "bound_audiences", "ci", "token_policies", "job");
          vault.write("auth/jobs/role/build", role);
          expect(vault.list("auth/jobs/role"), List.of("build"));
        });
    operation(
        "log in with a JWT",
        () -> {
          Map<String, Object> login = Map.of("role", "build", "jwt", given("JWT"));
          Map<String, Object> auth = vault.write("auth/jobs/login", login).getAuth();
          expect(auth.get("token_policies"), List.of("default", "job"));
          VaultTemplate own = client((String) auth.get("client_token"));
          expect(own.read("auth/token/lookup-self").getData().get("path"), "auth/jobs/login");
        });
    operation(
        "log in with a JWT that the role refuses",
        () ->
            expectRefusal(
                () -> vault.write("auth/jobs/login", Map.of("role", "build", "jwt", "a.b.c"))));
    operation(
        "create, renew and revoke a token",
        () -> {
          VaultTokenOperations tokens = vault.opsForToken();
          VaultTokenRequest request =
              VaultTokenRequest.builder().withPolicy("job").ttl(Duration.ofHours(1)).renewable().build();
          var token = tokens.create(request).getToken();
          expect(tokens.renew(token).getToken().getToken(), token.getToken());
          tokens.revoke(token);
          expectRefusal(() -> client(token.getToken()).read("auth/token/lookup-self"));
        });
    operation(
        "wrap and unwrap a value",
        () -> {
          var wrapped = vault.opsForWrapping().wrap(Map.of("a", "b"), Duration.ofMinutes(1));
          expect(vault.opsForWrapping().read(wrapped.getToken()).getData(), Map.of("a", "b"));
        });
    operation(
        "configure the cloud engine, issue and revoke credentials",
        () -> {
          vault.opsForSys().mount("azure", VaultMount.create("azure"));
          expect(vault.opsForSys().getMounts().get("azure/").getType(), "azure");
          vault.write("azure/config", json.readValue(given("AZURE"), Map.class));
          List<Map<String, String>> roles =
              List.of(Map.of("role_name", "Reader", "scope", given("AZURE_SCOPE")));
          vault.write(
              "azure/roles/reader", Map.of("azure_roles", json.writeValueAsString(roles), "ttl", "1h"));
          String lease = vault.read("azure/creds/reader").getLeaseId();
          vault.write("sys/leases/revoke", Map.of("lease_id", lease));
        });
    operation(
        "write, read, list and delete a secret (kv, version 2)",
        () -> {
          vault
              .opsForSys()
              .mount("kv2", VaultMount.builder().type("kv").options(Map.of("version", "2")).build());
          var secrets = vault.opsForKeyValue("kv2", KeyValueBackend.KV_2);
          secrets.put("app", Map.of("password", "p"));
          expect(secrets.get("app").getData(), Map.of("password", "p"));
          expect(secrets.list("/"), List.of("app"));
          secrets.delete("app");
        });
    operation(
        "write, read, list and delete a secret (kv, version 1)",
        () -> {
          vault
              .opsForSys()
              .mount("kv1", VaultMount.builder().type("kv").options(Map.of("version", "1")).build());
          var secrets = vault.opsForKeyValue("kv1", KeyValueBackend.KV_1);
          secrets.put("app", Map.of("password", "p"));
          expect(secrets.get("app").getData(), Map.of("password", "p"));
          secrets.delete("app");
        });
    operation(
        "log in with AppRole",
        () -> {
          vault.opsForSys().authMount("approle", VaultMount.create("approle"));
          vault.write("auth/approle/role/job", Map.of("token_policies", "job"));
          var roleId = vault.read("auth/approle/role/job/role-id").getData().get("role_id");
          var secretId = vault.write("auth/approle/role/job/secret-id").getData().get("secret_id");
          AppRoleAuthenticationOptions options =
              AppRoleAuthenticationOptions.builder()
                  .roleId(RoleId.provided((String) roleId))
                  .secretId(SecretId.provided((String) secretId))
                  .build();
          RestOperations rest =
              VaultClients.createRestTemplate(
                  SimpleVaultEndpointProvider.of(endpoint),
                  ClientHttpRequestFactoryFactory.create(
                      new ClientOptions(), SslConfiguration.unconfigured()));
          new AppRoleAuthentication(options, rest).login();
        });
    operation(
        "log in with a username and password",
        () -> {
          vault.opsForSys().authMount("userpass", VaultMount.create("userpass"));
          vault.write("auth/userpass/users/ada", Map.of("password", "correct horse", "policies", "job"));
          vault.write("auth/userpass/login/ada", Map.of("password", "correct horse"));
        });
    operation(
        "encrypt with the transit engine",
        () -> vault.opsForSys().mount("transit", VaultMount.create("transit")));
  }
}
