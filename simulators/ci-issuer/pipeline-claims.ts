import { createHash, randomUUID } from 'node:crypto'
import type { Claims, ClaimsInput } from './claims.ts'

const commitOf = (name: string) => createHash('sha1').update(name).digest('hex')

/**
 * The OIDC token of a GitHub Actions job: it expires after 6 minutes, and `nbf` is 10 minutes in the past.
 * Numbers and booleans are strings.
 */
export function githubClaims({ issuer, now, claims = {} }: ClaimsInput): Claims {
  const repository = textOf(claims.repository, 'acme/shop')
  const owner = textOf(claims.repository_owner, repository.split('/')[0] ?? '')
  const ref = textOf(claims.ref, 'refs/heads/main')
  const environment = claims.environment
  const sha = commitOf(ref)
  const workflow = `${repository}/.github/workflows/deploy.yml@${ref}`
  const place = typeof environment === 'string' ? `environment:${environment}` : `ref:${ref}`
  return {
    jti: randomUUID(),
    sub: `repo:${repository}:${place}`,
    aud: `https://github.com/${owner}`,
    ref,
    ref_type: 'branch',
    ref_protected: 'true',
    sha,
    repository,
    repository_id: '701245',
    repository_owner: owner,
    repository_owner_id: '65411',
    repository_visibility: 'private',
    run_id: '9120457733',
    run_number: '118',
    run_attempt: '1',
    runner_environment: 'github-hosted',
    actor: 'octavia',
    actor_id: '30211',
    event_name: 'push',
    head_ref: '',
    base_ref: '',
    workflow: 'deploy',
    workflow_ref: workflow,
    workflow_sha: sha,
    job_workflow_ref: workflow,
    job_workflow_sha: sha,
    iss: issuer,
    iat: now,
    nbf: now - 600,
    exp: now + 360,
    ...claims,
  }
}

/** The ID token of a GitLab CI job: valid for the job timeout (an hour); `nbf` is 5 seconds in the past. */
export function gitlabClaims({ issuer, now, claims = {} }: ClaimsInput): Claims {
  const projectPath = textOf(claims.project_path, 'acme/platform/shop')
  const namespacePath = textOf(claims.namespace_path, projectPath.split('/').slice(0, -1).join('/'))
  const ref = textOf(claims.ref, 'main')
  const refType = textOf(claims.ref_type, 'branch')
  return {
    jti: randomUUID(),
    sub: `project_path:${projectPath}:ref_type:${refType}:ref:${ref}`,
    aud: issuer,
    namespace_id: '72',
    namespace_path: namespacePath,
    project_id: '20',
    project_path: projectPath,
    project_visibility: 'private',
    user_id: '1',
    user_login: 'octavia',
    user_email: 'octavia@acme.example',
    user_access_level: 'maintainer',
    user_identities: [{ provider: 'saml', extern_uid: 'octavia' }],
    groups_direct: ['acme/platform', 'acme/release'],
    pipeline_id: '574',
    pipeline_source: 'push',
    job_id: '302',
    ref,
    ref_type: refType,
    ref_path: refType === 'tag' ? `refs/tags/${ref}` : `refs/heads/${ref}`,
    ref_protected: 'true',
    runner_id: 1,
    runner_environment: 'self-hosted',
    sha: commitOf(ref),
    ci_config_ref_uri: `gitlab.example/${projectPath}//.gitlab-ci.yml@refs/heads/${ref}`,
    ci_config_sha: commitOf(ref),
    iss: issuer,
    iat: now,
    nbf: now - 5,
    exp: now + 3600,
    ...claims,
  }
}

/** The service account token of a projected volume in a pod: valid for about an hour; `aud` is a list. */
export function kubernetesClaims({ issuer, now, claims = {} }: ClaimsInput): Claims {
  const place = {
    namespace: 'shop',
    node: { name: 'node-3', uid: '0e4b6a4f-5a9c-4c3b-8c5f-6d4b7f6f2a11' },
    pod: { name: 'deployer-6f9b7c8d5-x2x7k', uid: 'c9f2a9b1-7f64-4c1e-9a53-0d1f6a3b2c44' },
    serviceaccount: { name: 'deployer', uid: '5d3c1b7e-90aa-4a2e-b0f4-3a1c9f0e7d62' },
    ...objectOf(claims['kubernetes.io']),
  }
  return {
    aud: [issuer],
    exp: now + 3607,
    iat: now,
    iss: issuer,
    jti: randomUUID(),
    nbf: now,
    sub: `system:serviceaccount:${place.namespace}:${textOf(objectOf(place.serviceaccount)['name'], 'deployer')}`,
    ...claims,
    'kubernetes.io': place,
  }
}

const objectOf = (value: unknown): Claims => (typeof value === 'object' && value !== null ? { ...value } : {})
const textOf = (value: unknown, otherwise: string): string => (typeof value === 'string' ? value : otherwise)
