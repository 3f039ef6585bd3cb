import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { type Issuer, startIssuer } from '../../simulators/ci-issuer/issuer.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { workThrough } from './page.ts'

/* docs/pipelines.md: what clients send whose JWT is the token, with the settings of the files shown. */

const page = readFileSync(join(import.meta.dirname, '../../docs/pipelines.md'), 'utf8')

const below = (heading: string): string => {
  const [, text] = page.split(`\n${heading}\n`)
  if (text === undefined) throw new Error(`the page has no heading "${heading}"`)
  return text.split(/^#{2,3} /m)[0] ?? ''
}
const blockOf = (language: string, section: string): string => {
  const [, text] = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'ms').exec(below(section)) ?? []
  if (text === undefined) throw new Error(`"${section}" shows no file of the language ${language}`)
  return text
}
/** What the only match of a pattern captures. */
const only = (pattern: RegExp, text: string): string => {
  const found = [...text.matchAll(new RegExp(pattern, 'g'))]
  expect(found.map(([, captured]) => captured)).toHaveLength(1)
  return found[0]?.[1] ?? ''
}

let github: Issuer
let gitlab: Issuer
let cluster: Issuer
let server: TestServer

beforeAll(async () => {
  ;[github, gitlab, cluster] = [await startIssuer(), await startIssuer(), await startIssuer()]
  server = await startTestServer()
  const given = { GITHUB: github.url, GITLAB: gitlab.url, CLUSTER: cluster.url }
  for (const section of ['The secret', 'GitHub Actions', 'GitLab CI', 'Kubernetes', 'Terraform', 'Spring'])
    await workThrough(below(`## ${section}`), server, { given })
})
afterAll(async () => {
  for (const each of [server, github, gitlab, cluster]) await each[Symbol.asyncDispose]()
})

const read = (jwt: string, path: string, headers: Record<string, string> = {}) =>
  server.anonymous.read(path, { headers: { 'X-Vault-Token': jwt, ...headers } })

const secret = { username: 'shop', password: 's3cret' }
const curlPath = /X-Vault-Token: \$\w+" https:\/\/gatehouse\.example\.com\/v1\/([\w/]+)/
const app = { 'kubernetes.io': { namespace: 'shop', serviceaccount: { name: 'app', uid: 'app-uid' } } }

describe('the JWT is the token', () => {
  test('of a job of GitHub', async () => {
    const text = blockOf('yaml', '### GitHub Actions: directly')
    const { jobs, permissions } = parse(text)
    expect(permissions).toMatchObject({ 'id-token': 'write' })
    const script = String(jobs.migrate.steps.at(-1).run)
    const aud = only(/&audience=(\w+)/, script)
    const path = only(curlPath, script)

    const answer = await read(await github.signPipeline('github', { aud }), path)
    expect(answer.body.data?.data).toEqual(secret)
    const ofFork = await read(await github.signPipeline('github', { aud, repository: 'acme/fork' }), path)
    expect(ofFork.status).toBe(403)
  })

  test('of a job of GitLab', async () => {
    const { migrate } = parse(blockOf('yaml', '### GitLab CI: directly'))
    const [name = ''] = Object.keys(migrate.id_tokens)
    const script = migrate.script.join('\n')
    expect(script).toContain(`$${name}`)
    const { aud } = migrate.id_tokens[name]
    const path = only(curlPath, script)

    expect((await read(await gitlab.signPipeline('gitlab', { aud }), path)).body.data?.data).toEqual(secret)
    const unprotected = await gitlab.signPipeline('gitlab', { aud, ref_protected: 'false' })
    expect((await read(unprotected, path)).status).toBe(403)
  })

  test('of a pod', async () => {
    const { spec } = parse(blockOf('yaml', '### Kubernetes: directly')).spec.template
    const [container] = spec.containers
    const { path, audience } = spec.volumes[0].projected.sources[0].serviceAccountToken
    const [script] = container.args
    expect(script).toContain(`cat ${container.volumeMounts[0].mountPath}/${path}`)
    expect(spec.serviceAccountName).toBe('app')
    const asked = only(curlPath, script)

    const jwt = await cluster.signPipeline('kubernetes', { aud: [audience], ...app })
    expect((await read(jwt, asked)).body.data?.data).toEqual(secret)
  })

  test('of Terraform, which names its role', async () => {
    const provider = blockOf('hcl', '### Terraform: directly')
    expect(provider).toContain('skip_child_token = true')
    expect(provider).toContain('name  = "X-Gatehouse-Role"')
    const role = only(/value += "([\w-]+)"/, provider)
    const jwt = await github.signPipeline('github', { aud: 'gatehouse', environment: 'production' })
    const named = { 'X-Gatehouse-Role': role }

    expect((await read(jwt, 'auth/token/lookup-self', named)).status).toBe(200)
    expect((await read(jwt, 'team/data/shop/db', named)).body.data?.data).toEqual(secret)
  })

  test('of Spring and of the command line, which ask for the mount first', async () => {
    const { spring } = parse(blockOf('yaml', '### Spring: directly'))
    expect(spring.cloud.vault.authentication).toBe('TOKEN')
    const jwt = await cluster.signPipeline('kubernetes', { aud: ['gatehouse'], ...app })
    const path = spring.config.import.replace('vault://', '')
    const paths = ['auth/token/lookup-self', `sys/internal/ui/mounts/${path}`, path.replace('/', '/data/')]

    const answers = []
    for (const each of paths) answers.push(await read(jwt, each))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(answers.at(-1)?.body.data?.data).toEqual(secret)
  })
})
