import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
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

const needed = ['bash', 'curl', 'jq']
const onPath = (program: string) =>
  (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)))
const absent = process.env['CI'] === 'true' ? [] : needed.filter((program) => !onPath(program))

const secret = { username: 'shop', password: 's3cret' }
const curlPath = /X-Vault-Token: \$\w+" https:\/\/gatehouse\.example\.com\/v1\/([\w/]+)/
const app = { 'kubernetes.io': { namespace: 'shop', serviceaccount: { name: 'app', uid: 'app-uid' } } }

describe('a job asks for less', () => {
  test('with a login, and with the JWT as the token: the commands of the page', async () => {
    const jwt = await github.signPipeline('github', { aud: 'gatehouse' })
    const reader = await workThrough(below('## Only this secret, for five minutes'), server, {
      given: { JWT: jwt },
    })

    const { auth } = reader.answer('github/login').body
    expect(auth).toMatchObject({ scope_paths: ['team/data/shop/db'], lease_duration: 300 })
    const token = server.as(String(auth?.client_token))
    expect((await token.read('team/data/shop/db')).body.data?.data).toEqual(secret)
    expect(reader.answer('shop/db').body.data?.data).toEqual(secret)
    const scope = { 'X-Gatehouse-Scope': '{"scope_paths": ["team/data/shop/api"]}' }
    expect((await read(jwt, 'team/data/shop/db', scope)).status).toBe(403)
  })

  test.skipIf(absent.length > 0)(`by a template of GitLab (needs ${needed.join(', ')})`, async () => {
    const { '.read-secret': template } = parse(blockOf('yaml', '## Only this secret, for five minutes'))
    const { aud } = template.id_tokens.GATEHOUSE_ID_TOKEN
    const script = String(template.before_script.at(-1))
    const run = async (variables: object, shown: string) => {
      const env = {
        PATH: process.env['PATH'],
        ...template.variables,
        GATEHOUSE: server.url + '/v1',
        GATEHOUSE_ID_TOKEN: await gitlab.signPipeline('gitlab', { aud }),
        ...variables,
      }
      const shell = spawn('bash', ['-euo', 'pipefail', '-c', `${script}\nprintf %s "${shown}"`], { env })
      let output = ''
      shell.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
      const [code] = (await once(shell, 'close')) as [number | null]
      return { code, output }
    }

    expect(await run({}, '$DB_USER $DB_PASSWORD $(printenv GATEHOUSE_ID_TOKEN || echo gone)')).toEqual({
      code: 0,
      output: 'shop s3cret gone',
    })
    const { output: token } = await run({}, '$VAULT_TOKEN')
    expect((await server.as(token).read('auth/token/lookup-self')).body.data).toMatchObject({
      scope_paths: ['team/data/shop/db'],
      creation_ttl: 300,
    })
    expect((await run({ SECRET: 'team/data/shop/api' }, '$DB_USER')).code).not.toBe(0)
  })
})

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
