import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { type Issuer, startIssuer } from '../../simulators/ci-issuer/issuer.ts'
import type { Provider } from '../../simulators/ci-issuer/providers.ts'
import type { Answer, Client } from '../support/client.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { workThrough } from './page.ts'

/*
 * docs/pipelines.md: its commands, and what each program sends with the settings of the files shown. The
 * programs log in one after the other on one server, as on the page.
 */

const page = readFileSync(join(import.meta.dirname, '../../docs/pipelines.md'), 'utf8')

/** The text below a heading, up to the next heading of any level. */
const below = (heading: string): string => {
  const [, text] = page.split(`\n${heading}\n`)
  if (text === undefined) throw new Error(`the page has no heading "${heading}"`)
  return text.split(/^#{2,3} /m)[0] ?? ''
}

const blocksOf = (language: string, text: string): string[] =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, block = '']) => block)

const yamlOf = <T>(section: string, index = 0): T => parse(blocksOf('yaml', below(section))[index] ?? '') as T

/** What a program was told: how to log in, and which fields to read. */
type Settings = {
  readonly mount: string
  readonly role: string
  readonly audience: string
  readonly server: string
  /** The requests between login and end, with the paths of the secrets among them. */
  readonly reads: readonly string[]
  /** The field that each name of the program stands for. */
  readonly fields: Readonly<Record<string, string>>
}

type Program = {
  readonly name: string
  readonly issuer: 'GITHUB' | 'GITLAB' | 'CLUSTER'
  readonly provider: Provider
  readonly settings: () => Settings
  /** Vault's client library for Go sends writes with PUT. */
  readonly method: 'POST' | 'PUT'
  readonly claims: Record<string, unknown>
  /** A caller whom the role does not admit, as on the page. */
  readonly other: Record<string, unknown>
}

const serviceAccount = (name: string) => ({
  'kubernetes.io': { namespace: 'shop', serviceaccount: { name, uid: `${name}-uid` } },
})

type Workflow = {
  permissions: Record<string, string>
  jobs: Record<
    string,
    { environment?: string; steps: { uses?: string; run?: string; with?: Record<string, string> }[] }
  >
}

function vaultAction(): Settings {
  const { permissions, jobs } = yamlOf<Workflow>('## GitHub Actions')
  expect(permissions['id-token']).toBe('write')
  const inputs =
    jobs['migrate']?.steps.find(({ uses }) => uses?.startsWith('hashicorp/vault-action@'))?.with ?? {}
  expect(inputs['method']).toBe('jwt')
  const lines = (inputs['secrets'] ?? '').split(';').map((line) => line.trim().split(/\s+/))
  return {
    mount: String(inputs['path']),
    role: String(inputs['role']),
    audience: String(inputs['jwtGithubAudience']),
    server: String(inputs['url']),
    reads: [...new Set(lines.map(([path = '']) => path))],
    fields: Object.fromEntries(lines.map(([, field = '', , name = '']) => [name, field])),
  }
}

function gitlabRunner(): Settings {
  const { migrate: job } = yamlOf<{
    migrate: {
      id_tokens: Record<string, { aud: string }>
      variables: Record<string, string>
      secrets: Record<string, { vault: string; token: string }>
    }
  }>('## GitLab CI')
  const secrets = Object.entries(job.secrets).map(([name, { vault, token }]) => {
    const [path = '', mount = ''] = vault.split('@')
    const cut = path.lastIndexOf('/')
    return {
      name,
      token: token.slice(1),
      read: `${mount}/data/${path.slice(0, cut)}`,
      field: path.slice(cut + 1),
    }
  })
  const [audience = ''] = new Set(secrets.map(({ token }) => job.id_tokens[token]?.aud ?? ''))
  return {
    mount: String(job.variables['VAULT_AUTH_PATH']),
    role: String(job.variables['VAULT_AUTH_ROLE']),
    audience,
    server: String(job.variables['VAULT_SERVER_URL']),
    reads: ['sys/health', ...secrets.map(({ read }) => read)],
    fields: Object.fromEntries(secrets.map(({ name, field }) => [name, field])),
  }
}

function externalSecrets(): Settings {
  const documents = parseAllDocuments(blocksOf('yaml', below('## Kubernetes'))[0] ?? '').map(
    (document) => document.toJS() as Record<string, unknown>,
  )
  const specOf = <T>(kind: string) => documents.find((document) => document['kind'] === kind)?.['spec'] as T
  const { vault } = specOf<{
    provider: {
      vault: {
        server: string
        path: string
        auth: {
          jwt: {
            path: string
            role: string
            kubernetesServiceAccountToken: { serviceAccountRef: { name: string }; audiences: string[] }
          }
        }
      }
    }
  }>('SecretStore').provider
  const { data } = specOf<{ data: { secretKey: string; remoteRef: { key: string; property: string } }[] }>(
    'ExternalSecret',
  )
  const { path, role, kubernetesServiceAccountToken: token } = vault.auth.jwt
  expect(documents.find(({ kind }) => kind === 'ServiceAccount')).toMatchObject({
    metadata: { name: token.serviceAccountRef.name },
  })
  return {
    mount: path,
    role,
    audience: token.audiences.join(),
    server: vault.server,
    reads: ['auth/token/lookup-self', ...data.map(({ remoteRef }) => `${vault.path}/data/${remoteRef.key}`)],
    fields: Object.fromEntries(data.map(({ secretKey, remoteRef }) => [secretKey, remoteRef.property])),
  }
}

function terraform(): Settings {
  const [configuration = ''] = blocksOf('hcl', below('## Terraform'))
  const values = (block: string) => {
    const [, text = ''] = configuration.split(block)
    const [inside = ''] = text.split(/^ {0,2}\}/m)
    const lines = inside.matchAll(/(\w+) += "?([^"\n]*)"?$/gm)
    return Object.fromEntries([...lines].map(([, name = '', value = '']) => [name, value]))
  }
  const login = values('auth_login_jwt {')
  const secret = values('ephemeral "vault_kv_secret_v2" "db" {')
  const { apply } = yamlOf<Workflow>('## Terraform').jobs
  const script = apply?.steps.map(({ run }) => run).join('\n') ?? ''
  expect(values('provider "vault" {')).toMatchObject({ skip_child_token: 'true' })
  expect(apply?.environment).toBe('production')
  return {
    mount: String(login['mount']),
    role: String(login['role']),
    audience: /&audience=(\w+)/.exec(script)?.[1] ?? '',
    server: String(values('provider "vault" {')['address']),
    reads: ['sys/seal-status', `${secret['mount']}/data/${secret['name']}`],
    fields: Object.fromEntries(
      [...configuration.matchAll(/(\w+) = ephemeral\.vault_kv_secret_v2\.db\.data\.(\w+)/g)].map(
        ([, name = '', field = '']) => [name, field],
      ),
    ),
  }
}

function springCloudVault(): Settings {
  const { spring } = yamlOf<{
    spring: {
      config: { import: string }
      cloud: { vault: { uri: string; kubernetes: Record<string, string> } }
      datasource: Record<string, string>
    }
  }>('## Spring')
  const deployment = yamlOf<{
    spec: {
      template: {
        spec: {
          serviceAccountName: string
          containers: { volumeMounts: { mountPath: string }[] }[]
          volumes: { projected: { sources: { serviceAccountToken: { path: string; audience: string } }[] } }[]
        }
      }
    }
  }>('## Spring', 1).spec.template.spec
  const token = deployment.volumes[0]?.projected.sources[0]?.serviceAccountToken
  const folder = deployment.containers[0]?.volumeMounts[0]?.mountPath
  const path = spring.config.import.replace('vault://', '')
  const { kubernetes } = spring.cloud.vault
  expect(kubernetes['service-account-token-file']).toBe(`${folder}/${token?.path}`)
  expect(deployment.serviceAccountName).toBe('app')
  return {
    mount: String(kubernetes['kubernetes-path']),
    role: String(kubernetes['role']),
    audience: token?.audience ?? '',
    server: spring.cloud.vault.uri,
    // it asks for the version of the mount, and adds `data`
    reads: [`sys/internal/ui/mounts/${path}`, path.replace('/', '/data/')],
    fields: Object.fromEntries(
      Object.entries(spring.datasource).flatMap(([name, value]) => {
        const [, field] = /^\$\{(\w+)\}$/.exec(value) ?? []
        return field === undefined ? [] : [[name, field]]
      }),
    ),
  }
}

const programs: readonly Program[] = [
  {
    name: 'GitHub Actions',
    issuer: 'GITHUB',
    provider: 'github',
    settings: vaultAction,
    method: 'POST',
    claims: {},
    other: { ref: 'refs/heads/feature' },
  },
  {
    name: 'GitLab CI',
    issuer: 'GITLAB',
    provider: 'gitlab',
    settings: gitlabRunner,
    method: 'PUT',
    claims: {},
    other: { ref_protected: 'false' },
  },
  {
    name: 'Kubernetes',
    issuer: 'CLUSTER',
    provider: 'kubernetes',
    settings: externalSecrets,
    method: 'PUT',
    claims: serviceAccount('secrets'),
    other: serviceAccount('default'),
  },
  {
    name: 'Terraform',
    issuer: 'GITHUB',
    provider: 'github',
    settings: terraform,
    method: 'PUT',
    claims: { environment: 'production' },
    other: {},
  },
  {
    name: 'Spring',
    issuer: 'CLUSTER',
    provider: 'kubernetes',
    settings: springCloudVault,
    method: 'POST',
    claims: serviceAccount('app'),
    other: { ...serviceAccount('app'), aud: ['https://kubernetes.default.svc'] },
  },
]

/** One stand-in for each platform, because one mount takes the JWTs of an issuer as tokens. */
let issuers: Record<Program['issuer'], Issuer>
let server: TestServer

beforeAll(async () => {
  issuers = { GITHUB: await startIssuer(), GITLAB: await startIssuer(), CLUSTER: await startIssuer() }
  server = await startTestServer()
  await workThrough(below('## The secret'), server, { given: {} })
  for (const { name, issuer: variable } of programs)
    await workThrough(below(`## ${name}`), server, { given: { [variable]: issuers[variable].url } })
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  for (const issuer of Object.values(issuers)) await issuer[Symbol.asyncDispose]()
})

describe.each(programs)('docs/pipelines.md: $name', ({ name, settings, ...program }) => {
  const logIn = async (claims: Record<string, unknown>): Promise<Answer> => {
    const { mount, role, audience } = settings()
    const aud = program.provider === 'kubernetes' ? [audience] : audience
    const jwt = await issuers[program.issuer].signPipeline(program.provider, { aud, ...claims })
    return server.anonymous.call(program.method, `auth/${mount}/login`, { role, jwt })
  }

  test('the program logs in with the settings shown, and reads the secret', async () => {
    const { reads, fields, server: url } = settings()

    const login = await logIn(program.claims)
    const client: Client = server.as(String(login.body.auth?.client_token))
    const answers = []
    for (const path of reads) answers.push(await client.read(path))

    expect(login.status, login.text).toBe(200)
    expect(url).toBe('https://gatehouse.example.com')
    expect(login.body.auth?.['token_policies']).toEqual(['default', 'read-shop-db'])
    expect(answers.map(({ status }) => status)).toEqual(reads.map(() => 200))
    const secret = answers.at(-1)?.body.data?.['data']
    expect(Object.values(fields).map((field) => secret?.[field])).toEqual(['shop', 's3cret'])
    expect((await client.read('team/data/shop/other')).status).toBe(403)
    expect((await client.call('PUT', 'auth/token/revoke-self')).status).toBe(204)
  })

  test('a login that the role does not admit fails as shown, and the operator learns why', async () => {
    const section = below(`### ${name}: when the role does not match`)
    const [shown = '', explained = ''] = blocksOf('text', section)

    const login = await logIn(program.other)
    const reader = await workThrough(section, server, {
      given: { REQUEST_ID: String(login.body['request_id']) },
    })

    expect(login.status).toBe(400)
    // within vault-action's message, the response is JSON in which quotes are escaped
    expect(shown.replaceAll('\\"', '"')).toContain(login.body.errors?.[0])
    expect(reader.answer('/failures').text).toContain(String(login.body['request_id']))
    const report = reader.answer('/explain').text.split('\n')
    expect(explained).toMatch(/^FAIL/)
    for (const line of explained.trimEnd().split('\n')) expect(report).toContain(line)
  })
})
