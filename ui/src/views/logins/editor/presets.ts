import { encodedPath } from '../../../api/request.ts'
import { uiBase } from '../../../base.ts'
import type { Values } from './spec.ts'

/** The configuration and the role that a platform's tokens need. A claim without a value is one to fill in. */
export type Preset = { readonly label: string; readonly config: Values; readonly role: Values }

const issuer = (url: string): Values => ({ oidc_discovery_url: url, bound_issuer: url })

const pipeline = (fields: Values): Values => ({
  role_type: 'jwt',
  bound_audiences: ['gatehouse'],
  token_ttl: '15m',
  ...fields,
})

const sameNames = (...names: readonly string[]): Values =>
  Object.fromEntries(names.map((name) => [name, name]))

/** People log in here, or with the command on their own machine. */
const person = (mount: string, fields: Values): Values => ({
  role_type: 'oidc',
  user_claim: 'sub',
  oidc_scopes: ['profile', 'email'],
  allowed_redirect_uris: [
    'http://localhost:8250/oidc/callback',
    new URL(`vault/auth/${encodedPath(mount)}/oidc/callback`, uiBase).href,
  ],
  token_ttl: '1h',
  token_max_ttl: '8h',
  ...fields,
})

const provider = (url: string, fields: Values = {}): Values => ({
  oidc_discovery_url: url,
  oidc_client_id: 'gatehouse',
  default_role: 'people',
  ...fields,
})

/** docs/providers; of those without a page there, what their own documentation says. */
export const presets = (mount: string): Readonly<Record<string, Preset>> => ({
  github: {
    label: 'GitHub Actions',
    config: issuer('https://token.actions.githubusercontent.com'),
    role: pipeline({
      bound_claims: { repository_owner_id: '', repository: '', ref: 'refs/heads/main' },
      user_claim: 'repository_id',
      claim_mappings: sameNames('repository', 'ref', 'actor', 'run_id'),
    }),
  },
  gitlab: {
    label: 'GitLab CI',
    config: issuer('https://gitlab.com'),
    role: pipeline({
      bound_claims: {
        namespace_id: '',
        project_id: '',
        ref_type: 'branch',
        ref: 'main',
        ref_protected: 'true',
      },
      user_claim: 'project_id',
      claim_mappings: sameNames('project_path', 'ref', 'pipeline_id', 'job_id', 'user_login'),
    }),
  },
  kubernetes: {
    label: 'Kubernetes',
    config: issuer('https://kubernetes.default.svc.cluster.local'),
    role: pipeline({
      bound_claims: { '/kubernetes.io/namespace': '', '/kubernetes.io/serviceaccount/name': '' },
      user_claim: '/kubernetes.io/serviceaccount/uid',
      user_claim_json_pointer: true,
      claim_mappings: {
        '/kubernetes.io/namespace': 'namespace',
        '/kubernetes.io/serviceaccount/name': 'service_account',
        '/kubernetes.io/pod/name': 'pod',
      },
    }),
  },
  buildkite: {
    label: 'Buildkite',
    config: issuer('https://agent.buildkite.com'),
    role: pipeline({
      bound_claims: { organization_slug: '', pipeline_slug: '', build_branch: 'main' },
      user_claim: 'pipeline_slug',
      claim_mappings: sameNames('pipeline_slug', 'build_branch', 'build_number', 'job_id'),
    }),
  },
  circleci: {
    label: 'CircleCI',
    config: issuer('https://oidc.circleci.com/org/<organization id>'),
    role: pipeline({
      bound_claims: { 'oidc.circleci.com/project-id': '' },
      user_claim: 'oidc.circleci.com/project-id',
      claim_mappings: { 'oidc.circleci.com/project-id': 'project_id' },
    }),
  },
  terraform: {
    label: 'Terraform Cloud',
    config: issuer('https://app.terraform.io'),
    role: pipeline({
      bound_audiences: ['vault.workload.identity'],
      bound_claims: { terraform_organization_name: '', terraform_workspace_name: '' },
      user_claim: 'terraform_full_workspace',
      claim_mappings: sameNames('terraform_workspace_name', 'terraform_run_id', 'terraform_run_phase'),
    }),
  },
  entra: {
    label: 'Entra ID',
    config: provider('https://login.microsoftonline.com/<tenant id>/v2.0', {
      provider_config: { provider: 'azure' },
    }),
    role: person(mount, {
      user_claim: 'oid',
      groups_claim: 'groups',
      groups_claim_optional: true,
      bound_claims: { tid: '' },
      claim_mappings: { preferred_username: 'username', name: 'name' },
      oidc_scopes: ['profile', 'https://graph.microsoft.com/.default'],
    }),
  },
  okta: {
    label: 'Okta',
    config: provider('https://<organization>.okta.com/oauth2/default'),
    role: person(mount, {
      groups_claim: 'groups',
      claim_mappings: { preferred_username: 'username', email: 'email' },
    }),
  },
  google: {
    label: 'Google',
    config: provider('https://accounts.google.com'),
    role: person(mount, { bound_claims: { hd: '' }, claim_mappings: { email: 'email', name: 'name' } }),
  },
  keycloak: {
    label: 'Keycloak',
    config: provider('https://<host>/realms/<realm>'),
    role: person(mount, {
      groups_claim: 'groups',
      groups_claim_optional: true,
      claim_mappings: { preferred_username: 'username', email: 'email' },
    }),
  },
  auth0: {
    label: 'Auth0',
    config: provider('https://<tenant>.auth0.com/'),
    role: person(mount, {
      groups_claim: 'https://gatehouse.example/roles',
      claim_mappings: { email: 'email', nickname: 'nickname' },
    }),
  },
})
