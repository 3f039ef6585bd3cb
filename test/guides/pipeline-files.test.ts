import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { type Issuer, startIssuer } from '../../simulators/ci-issuer/issuer.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { readPage } from './page.ts'

type Step = { name?: string; uses?: string; shell?: string; run?: string; with?: Record<string, unknown> }
type Workflow = {
  permissions: Record<string, string>
  jobs: { deploy: { env?: Record<string, string>; steps: Step[] } }
}
type GitLabFile = {
  deploy: { id_tokens: { JWT: { aud: string } }; variables: Record<string, string>; script: string[] }
}
type Container = { env: { name: string; value: string }[]; command: string[]; args: string[] }
type Job = { kind: string; spec: { template: { spec: { containers: Container[]; volumes: unknown[] } } } }

const yamlFiles = (page: string): unknown[] =>
  [...readPage(page).matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text = '']) => parse(text) as unknown)

const needed = ['bash', 'curl', 'jq']
const onPath = (program: string) =>
  (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)))
const absent = process.env['CI'] === 'true' ? [] : needed.filter((program) => !onPath(program))

let issuer: Issuer
let server: TestServer

beforeAll(async () => {
  issuer = await startIssuer()
  server = await startTestServer()
  await server.root.write('sys/policies/acl/deploy-shop', {
    policy: 'path "cloud/creds/deploy" { capabilities = ["read"] }',
  })
  for (const mount of ['github', 'gitlab', 'kubernetes']) {
    await server.root.write(`sys/auth/${mount}`, { type: 'jwt' })
    await server.root.write(`auth/${mount}/config`, {
      oidc_discovery_url: issuer.url,
      bound_issuer: issuer.url,
    })
    const role = {
      role_type: 'jwt',
      bound_audiences: 'gatehouse',
      user_claim: 'sub',
      token_policies: 'deploy-shop',
    }
    await server.root.write(`auth/${mount}/role/deploy-shop`, role)
  }
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await issuer[Symbol.asyncDispose]()
})

type Ran = { readonly code: number | null; readonly output: string }

/** Runs a program in a folder with a `deploy.sh` that records its token and what the server says about it. */
async function runIn(
  folder: string,
  [program = '', ...args]: readonly string[],
  environment: Record<string, string>,
): Promise<Ran> {
  await writeFile(
    join(folder, 'deploy.sh'),
    `#!/bin/sh\nprintf %s "$VAULT_TOKEN" > deployed-with\ncurl -sf -H "X-Vault-Token: $VAULT_TOKEN" "$VAULT_ADDR/v1/auth/token/lookup-self" > looked-up\n`,
    { mode: 0o700 },
  )
  const temporary = join(folder, 'tmp')
  await mkdir(temporary, { recursive: true })
  const env = {
    PATH: process.env['PATH'],
    HOME: folder,
    TMPDIR: temporary,
    VAULT_ADDR: server.url,
    ...environment,
  }
  const child = spawn(program, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'], timeout: 60_000 })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  const [code] = (await once(child, 'close')) as [number | null]
  // nothing that was fetched remains
  expect(await readdir(temporary)).toEqual([])
  return { code, output }
}

/** The token that `deploy.sh` had; it was valid then and is revoked now. */
async function expectDeployed(folder: string): Promise<string> {
  const token = await readFile(join(folder, 'deployed-with'), 'utf8')
  const lookedUp = JSON.parse(await readFile(join(folder, 'looked-up'), 'utf8')) as {
    data: { policies: string[] }
  }
  expect(lookedUp.data.policies).toEqual(['default', 'deploy-shop'])
  expect((await server.as(token).read('auth/token/lookup-self')).status).toBe(403)
  return token
}

/** A refused login: nothing was deployed, and the log shows the server's error and the request id. */
async function expectRefusal(folder: string, { code, output }: Ran, mount: string): Promise<void> {
  const failures = await server.root.read(`auth/${mount}/failures?limit=1`)
  const [failure] = (failures.body.data?.['failures'] ?? []) as unknown as { request_id: string }[]
  expect(code).toBe(1)
  expect(existsSync(join(folder, 'deployed-with'))).toBe(false)
  expect(output).toContain(
    'Gatehouse refused the login with 400: error validating token: invalid audience (aud) claim',
  )
  expect(output).toContain(`(request id ${failure?.request_id})`)
}

describe.skipIf(absent.length > 0)(`the pipeline files do what they say (needs ${needed.join(', ')})`, () => {
  /** The endpoint where a GitHub job gets its JWT. */
  async function startTokenPlace(sign: (audience: string) => Promise<string>) {
    const given: string[] = []
    const place = createServer(async (request, response) => {
      const audience = new URL(request.url ?? '', 'http://any').searchParams.get('audience') ?? ''
      if (request.headers.authorization !== 'Bearer the-jobs-own') return void response.writeHead(401).end()
      const value = await sign(audience)
      given.push(value)
      response.end(JSON.stringify({ value }))
    }).listen(0, '127.0.0.1')
    await once(place, 'listening')
    const { port } = place.address() as { port: number }
    return {
      given,
      environment: {
        ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'the-jobs-own',
        ACTIONS_ID_TOKEN_REQUEST_URL: `http://127.0.0.1:${port}/?api-version=2.0`,
      },
      [Symbol.asyncDispose]: async () => void place.close(),
    }
  }

  /**
   * Runs the steps as a runner does. `shown` is what people see: without the commands to the runner, and with
   * *** for what they hide.
   */
  async function runWorkflow(
    { jobs }: Workflow,
    folder: string,
    environment: Record<string, string>,
  ): Promise<Ran & { shown: string }> {
    const shared = join(folder, 'github-env')
    await writeFile(shared, '')
    const masked: string[] = []
    let shown = ''
    let failure: Ran | undefined
    for (const { run: script, shell, name } of jobs.deploy.steps) {
      const isCleanUp = name === 'Revoke the token'
      const variables = Object.fromEntries(
        (await readFile(shared, 'utf8'))
          .split('\n')
          .flatMap((line) => (line === '' ? [] : [line.split(/=(.*)/s)])),
      )
      if (
        script === undefined ||
        (failure !== undefined && !isCleanUp) ||
        (isCleanUp && variables['VAULT_TOKEN'] === undefined)
      )
        continue
      const file = join(folder, 'step.sh')
      await writeFile(file, script)
      const command =
        shell === 'bash' ? ['bash', '--noprofile', '--norc', '-eo', 'pipefail', file] : ['bash', '-e', file]
      const ran = await runIn(folder, command, { ...environment, ...variables, GITHUB_ENV: shared })
      // a runner shows the environment of each step, including variables of earlier steps
      for (const line of [
        ...Object.entries(variables).map(([key, value]) => `${key}: ${value}`),
        ...ran.output.split('\n'),
      ]) {
        const [, hidden] = /^::add-mask::(.*)$/.exec(line) ?? []
        if (hidden === undefined)
          shown += `${masked.reduce((text, mask) => text.replaceAll(mask, '***'), line)}\n`
        else masked.push(hidden)
      }
      if (ran.code !== 0) failure ??= ran
    }
    return { code: failure?.code ?? 0, output: failure?.output ?? '', shown }
  }

  test('GitHub Actions: the workflow logs in, deploys, and shows neither JWT nor token', async () => {
    const [workflow] = yamlFiles('github-actions') as [Workflow]
    await using folder = await temporaryFolder()
    await using place = await startTokenPlace((aud) => issuer.signPipeline('github', { aud }))

    const { code, shown } = await runWorkflow(workflow, folder.path, place.environment)

    expect({ code, shown }).toMatchObject({ code: 0 })
    expect(workflow.permissions).toMatchObject({ 'id-token': 'write' })
    expect(place.given).toHaveLength(1)
    const token = await expectDeployed(folder.path)
    for (const secret of [token, ...place.given]) expect(shown).not.toContain(secret)
  })

  test('GitHub Actions: a refused login fails the workflow with the words of the server', async () => {
    const [workflow] = yamlFiles('github-actions') as [Workflow]
    await using folder = await temporaryFolder()
    await using place = await startTokenPlace(() => issuer.signPipeline('github', { aud: 'elsewhere' }))

    const ran = await runWorkflow(workflow, folder.path, place.environment)

    await expectRefusal(folder.path, ran, 'github')
    expect(ran.shown).toMatch(/^::error::Gatehouse refused/m)
    expect(ran.shown).not.toContain(place.given[0])
  })

  test('GitHub Actions: no JWT, an unreachable server and an answer that is no JSON fail the workflow too', async () => {
    const [workflow] = yamlFiles('github-actions') as [Workflow]
    await using folder = await temporaryFolder()
    await using place = await startTokenPlace((aud) => issuer.signPipeline('github', { aud }))
    await using proxy = await startTokenPlace(async () => '')
    const proxyUrl = new URL(proxy.environment.ACTIONS_ID_TOKEN_REQUEST_URL).origin

    const noJwt = await runWorkflow(workflow, folder.path, {
      ...place.environment,
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'wrong',
    })
    const noServer = await runWorkflow(workflow, folder.path, {
      ...place.environment,
      VAULT_ADDR: 'http://127.0.0.1:1',
    })
    const noGatehouse = await runWorkflow(workflow, folder.path, {
      ...place.environment,
      VAULT_ADDR: proxyUrl,
    })

    expect([noJwt.code, noServer.code, noGatehouse.code].every((code) => code !== 0)).toBe(true)
    expect(noJwt.shown).toContain('401')
    expect(noServer.shown).toContain('127.0.0.1')
    expect(noGatehouse.shown).toContain('Gatehouse refused the login with 401')
    expect(existsSync(folder.file('deployed-with'))).toBe(false)
  })

  test('GitHub Actions: the file for vault-action has inputs that log in, and revokes the token', async () => {
    const [, workflow] = yamlFiles('github-actions') as [unknown, Workflow]
    const action = workflow.jobs.deploy.steps.find(({ uses }) => uses?.startsWith('hashicorp/vault-action@'))
    const inputs = action?.with ?? {}

    // the action sends its role, and a JWT made for its audience, to the mount of its path
    const jwt = await issuer.signPipeline('github', { aud: inputs['jwtGithubAudience'] })
    const login = await server.anonymous.write(`auth/${inputs['path']}/login`, { role: inputs['role'], jwt })

    expect(workflow.permissions).toMatchObject({ 'id-token': 'write' })
    expect(inputs).toMatchObject({ method: 'jwt', exportToken: true, url: expect.stringMatching(/^https:/) })
    expect(login.status).toBe(200)
    const revoke = workflow.jobs.deploy.steps.find(({ name }) => name === 'Revoke the token')?.run ?? ''
    await using folder = await temporaryFolder()
    await writeFile(folder.file('step.sh'), revoke)
    const token = String(login.body.auth?.client_token)
    expect(
      (await runIn(folder.path, ['bash', '-e', folder.file('step.sh')], { VAULT_TOKEN: token })).code,
    ).toBe(0)
    expect((await server.as(token).read('auth/token/lookup-self')).status).toBe(403)
  })

  /** How GitLab runs a job: as one script, with `pipefail` if the shell supports it. */
  const scriptOf = ({ deploy }: GitLabFile): string =>
    `if set -o | grep -q pipefail; then set -o pipefail; fi; set -e\n${deploy.script.join('\n')}\n`

  describe.each(['sh', 'bash'])('GitLab CI in %s', (shell) => {
    const [file] = yamlFiles('gitlab-ci') as [GitLabFile]

    test('the job logs in, deploys, and prints neither JWT nor token', async () => {
      await using folder = await temporaryFolder()
      const JWT = await issuer.signPipeline('gitlab', { aud: file.deploy.id_tokens.JWT.aud })

      const { code, output } = await runIn(folder.path, [shell, '-c', scriptOf(file)], { JWT })

      expect({ code, output }).toMatchObject({ code: 0 })
      const token = await expectDeployed(folder.path)
      for (const secret of [token, JWT]) expect(output).not.toContain(secret)
    })

    test('a refused login fails the job with the words of the server', async () => {
      await using folder = await temporaryFolder()
      const JWT = await issuer.signPipeline('gitlab', { aud: 'elsewhere' })

      const ran = await runIn(folder.path, [shell, '-c', scriptOf(file)], { JWT })

      await expectRefusal(folder.path, ran, 'gitlab')
      expect(ran.output).not.toContain(JWT)
    })

    test('a job whose commands are traced does not fetch a token', async () => {
      await using folder = await temporaryFolder()
      const JWT = await issuer.signPipeline('gitlab', { aud: 'gatehouse' })

      const ran = await runIn(folder.path, [shell, '-c', scriptOf(file)], { JWT, CI_DEBUG_TRACE: 'true' })

      expect(ran).toEqual({ code: 1, output: 'CI_DEBUG_TRACE would print the token\n' })
      expect(existsSync(folder.file('deployed-with'))).toBe(false)
    })
  })

  describe('Kubernetes', () => {
    const [job] = yamlFiles('kubernetes').filter((file) => (file as Job).kind === 'Job') as [Job]
    const [container] = job.spec.template.spec.containers as [Container]
    const runJob = async (folder: string, jwt: string) => {
      await writeFile(join(folder, 'token'), jwt)
      return runIn(folder, [...container.command, ...container.args], { JWT_FILE: join(folder, 'token') })
    }

    test('the job logs in, deploys, and prints neither JWT nor token', async () => {
      await using folder = await temporaryFolder()
      const jwt = await issuer.signPipeline('kubernetes', { aud: ['gatehouse'] })

      const { code, output } = await runJob(folder.path, jwt)

      expect({ code, output }).toMatchObject({ code: 0 })
      expect(JSON.stringify(job.spec.template.spec.volumes)).toContain('"audience":"gatehouse"')
      expect(container.env.map(({ name }) => name)).toEqual(['VAULT_ADDR', 'JWT_FILE'])
      const token = await expectDeployed(folder.path)
      for (const secret of [token, jwt]) expect(output).not.toContain(secret)
    })

    test('a refused login fails the job with the words of the server', async () => {
      await using folder = await temporaryFolder()
      const jwt = await issuer.signPipeline('kubernetes', { aud: ['elsewhere'] })

      const ran = await runJob(folder.path, jwt)

      await expectRefusal(folder.path, ran, 'kubernetes')
      expect(ran.output).not.toContain(jwt)
    })
  })
})
