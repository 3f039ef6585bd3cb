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
import org.springframework.http.HttpEntity;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpMethod;
import org.springframework.vault.authentication.AppRoleAuthentication;
import org.springframework.vault.authentication.AppRoleAuthenticationOptions;
import org.springframework.vault.authentication.AppRoleAuthenticationOptions.RoleId;
import org.springframework.vault.authentication.AppRoleAuthenticationOptions.SecretId;
import org.springframework.vault.authentication.ClientAuthentication;
import org.springframework.vault.authentication.KubernetesAuthentication;
import org.springframework.vault.authentication.KubernetesAuthenticationOptions;
import org.springframework.vault.authentication.TokenAuthentication;
import org.springframework.vault.authentication.UnwrappingEndpoints;
import org.springframework.vault.authentication.UsernamePasswordAuthentication;
import org.springframework.vault.authentication.UsernamePasswordAuthenticationOptions;
import org.springframework.vault.client.ClientHttpRequestFactoryFactory;
import org.springframework.vault.client.SimpleVaultEndpointProvider;
import org.springframework.vault.client.VaultClients;
import org.springframework.vault.client.VaultEndpoint;
import org.springframework.vault.core.VaultKeyValueOperationsSupport.KeyValueBackend;
import org.springframework.vault.core.VaultTemplate;
import org.springframework.vault.core.VaultTokenOperations;
import org.springframework.vault.support.ClientOptions;
import org.springframework.vault.support.Policy;
import org.springframework.vault.support.SslConfiguration;
import org.springframework.vault.support.VaultMetadataRequest;
import org.springframework.vault.support.VaultMount;
import org.springframework.vault.support.VaultResponse;
import org.springframework.vault.support.VaultToken;
import org.springframework.vault.support.VaultTokenRequest;
import org.springframework.vault.support.Versioned;
import org.springframework.vault.support.Versioned.Version;
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
    kvOperations(vault);
    loginOperations(vault);
    operation(
        "encrypt with the transit engine",
        () -> vault.opsForSys().mount("transit", VaultMount.create("transit")));
  }

  private static void mount(VaultTemplate vault, String path, String version) {
    vault
        .opsForSys()
        .mount(path, VaultMount.builder().type("kv").options(Map.of("version", version)).build());
  }

  private static void kvOperations(VaultTemplate vault) throws Exception {
    operation(
        "write, read, list and delete a secret (kv, version 1)",
        () -> {
          mount(vault, "kv1", "1");
          var secrets = vault.opsForKeyValue("kv1", KeyValueBackend.KV_1);
          secrets.put("team/app", Map.of("password", "p"));
          expect(secrets.get("team/app").getData(), Map.of("password", "p"));
          expect(secrets.list("team"), List.of("app"));
          secrets.delete("team/app");
          expect(secrets.get("team/app"), null);
        });
    operation(
        "write, patch, read, list and delete a secret (kv, version 2)",
        () -> {
          mount(vault, "kv2", "2");
          var secrets = vault.opsForKeyValue("kv2", KeyValueBackend.KV_2);
          secrets.put("team/app", Map.of("password", "p"));
          expect(secrets.patch("team/app", Map.of("user", "ada")), true);
          expect(secrets.get("team/app").getData(), Map.of("password", "p", "user", "ada"));
          expect(secrets.list("/"), List.of("team/"));
          secrets.delete("team/app");
          expect(secrets.get("team/app"), null);
          expectRefusal(() -> secrets.patch("nobody", Map.of("user", "ada")));
        });
    var versions = vault.opsForVersionedKeyValue("kv2");
    operation(
        "write and read versions of a secret (kv, version 2)",
        () -> {
          versions.put("app", Map.of("password", "p1"));
          expect(versions.put("app", Map.of("password", "p2")).getVersion(), Version.from(2));
          expect(versions.get("app").getData(), Map.of("password", "p2"));
          expect(versions.get("app", Version.from(1)).getData(), Map.of("password", "p1"));
          expect(versions.get("nobody"), null);
        });
    operation(
        "write a secret with check-and-set (kv, version 2)",
        () -> {
          versions.put("app", Versioned.create(Map.of("password", "p3"), Version.from(2)));
          expectRefusal(
              () -> versions.put("app", Versioned.create(Map.of("password", "no"), Version.from(2))));
          expect(versions.get("app").getData(), Map.of("password", "p3"));
        });
    operation(
        "delete, undelete and destroy versions of a secret (kv, version 2)",
        () -> {
          versions.delete("app");
          expect(versions.get("app").hasData(), false);
          expect(versions.get("app").getRequiredMetadata().isDeleted(), true);
          versions.undelete("app", Version.from(3));
          expect(versions.get("app").getData(), Map.of("password", "p3"));
          versions.delete("app", Version.from(1), Version.from(2));
          versions.destroy("app", Version.from(1));
          expect(versions.get("app", Version.from(1)).getRequiredMetadata().isDestroyed(), true);
        });
    operation(
        "write, read and delete the metadata of a secret (kv, version 2)",
        () -> {
          var metadata = versions.opsForKeyValueMetadata();
          metadata.put(
              "app",
              VaultMetadataRequest.builder()
                  .maxVersions(5)
                  .deleteVersionAfter(Duration.ofHours(1))
                  .customMetadata(Map.of("owner", "a"))
                  .build());
          var read = metadata.get("app");
          expect(read.getMaxVersions(), 5);
          expect(read.getDeleteVersionAfter(), Duration.ofHours(1));
          // it reads no custom metadata here
          expect(versions.get("app").getRequiredMetadata().getCustomMetadata(), Map.of("owner", "a"));
          expect(read.getVersions().size(), 3);
          metadata.delete("app");
          expect(versions.get("app"), null);
        });
  }

  private static RestOperations rest() {
    return VaultClients.createRestTemplate(
        SimpleVaultEndpointProvider.of(endpoint),
        ClientHttpRequestFactoryFactory.create(new ClientOptions(), SslConfiguration.unconfigured()));
  }

  private static void expectLogin(ClientAuthentication method, String path) {
    var self = client(method.login().getToken()).read("auth/token/lookup-self").getData();
    expect(self.get("path"), path);
    expect(self.get("policies"), List.of("default", "job"));
  }

  private static void loginOperations(VaultTemplate vault) throws Exception {
    String role = "auth/approle/role/job";
    operation(
        "write, read, list and delete an AppRole",
        () -> {
          vault.opsForSys().authMount("approle", VaultMount.create("approle"));
          vault.write(role, Map.of("token_policies", "job", "role_id", "job-1"));
          expect(vault.read(role).getData().get("token_policies"), List.of("job"));
          vault.write("auth/approle/role/gone");
          vault.delete("auth/approle/role/gone");
          expect(vault.list("auth/approle/role"), List.of("job"));
        });
    operation(
        "log in with AppRole",
        () -> {
          var secretId = vault.write(role + "/secret-id").getData().get("secret_id");
          var options =
              AppRoleAuthenticationOptions.builder()
                  .roleId(RoleId.provided("job-1"))
                  .secretId(SecretId.provided((String) secretId))
                  .build();
          expectLogin(new AppRoleAuthentication(options, rest()), "auth/approle/login");
          var wrong =
              AppRoleAuthenticationOptions.builder()
                  .roleId(RoleId.provided("job-1"))
                  .secretId(SecretId.provided("wrong"))
                  .build();
          expectRefusal(() -> new AppRoleAuthentication(wrong, rest()).login());
        });
    operation(
        "log in with AppRole, and pull the role id and the secret id",
        () -> {
          var token = VaultToken.of(given("VAULT_TOKEN"));
          var options =
              AppRoleAuthenticationOptions.builder()
                  .appRole("job")
                  .roleId(RoleId.pull(token))
                  .secretId(SecretId.pull(token))
                  .build();
          expectLogin(new AppRoleAuthentication(options, rest()), "auth/approle/login");
        });
    operation(
        "log in with AppRole and a wrapped secret id",
        () -> {
          var wrapped =
              vault.doWithSession(
                  session -> {
                    var headers = new HttpHeaders();
                    headers.add("X-Vault-Wrap-TTL", "60s");
                    var request = new HttpEntity<>(headers);
                    return session
                        .exchange(role + "/secret-id", HttpMethod.POST, request, VaultResponse.class)
                        .getBody();
                  });
          var options =
              AppRoleAuthenticationOptions.builder()
                  .roleId(RoleId.provided("job-1"))
                  .secretId(SecretId.wrapped(VaultToken.of(wrapped.getWrapInfo().get("token"))))
                  .unwrappingEndpoints(UnwrappingEndpoints.SysWrapping)
                  .build();
          expectLogin(new AppRoleAuthentication(options, rest()), "auth/approle/login");
        });
    operation(
        "write, read, list and delete a user (userpass)",
        () -> {
          vault.opsForSys().authMount("userpass", VaultMount.create("userpass"));
          vault.write(
              "auth/userpass/users/ada", Map.of("password", "correct horse", "token_policies", "job"));
          vault.write("auth/userpass/users/gone", Map.of("password", "gone"));
          vault.delete("auth/userpass/users/gone");
          expect(vault.list("auth/userpass/users"), List.of("ada"));
          expect(vault.read("auth/userpass/users/ada").getData().get("token_policies"), List.of("job"));
        });
    operation(
        "log in with a username and password",
        () -> {
          var user = UsernamePasswordAuthenticationOptions.builder().username("ada");
          var right = user.password("correct horse").build();
          expectLogin(new UsernamePasswordAuthentication(right, rest()), "auth/userpass/login/ada");
          var wrong = user.password("wrong").build();
          expectRefusal(() -> new UsernamePasswordAuthentication(wrong, rest()).login());
        });
    operation(
        "configure the kubernetes method and log in with the token of a service account",
        () -> {
          Map<String, String> cluster = json.readValue(given("CLUSTER"), Map.class);
          vault.opsForSys().authMount("pods", VaultMount.create("kubernetes"));
          vault.write(
              "auth/pods/config",
              Map.of(
                  "kubernetes_host", cluster.get("host"),
                  "kubernetes_ca_cert", cluster.get("ca_cert"),
                  "token_reviewer_jwt", cluster.get("reviewer"),
                  "disable_local_ca_jwt", true));
          vault.write(
              "auth/pods/role/web",
              Map.of(
                  "bound_service_account_names", List.of("web"),
                  "bound_service_account_namespaces", List.of("dev"),
                  "audience", cluster.get("audience"),
                  "token_policies", "job"));
          var pod = KubernetesAuthenticationOptions.builder().path("pods").role("web");
          var right = pod.jwtSupplier(() -> cluster.get("jwt")).build();
          expectLogin(new KubernetesAuthentication(right, rest()), "auth/pods/login");
          var wrong = pod.jwtSupplier(() -> "a.b.c").build();
          expectRefusal(() -> new KubernetesAuthentication(wrong, rest()).login());
        });
  }
}
