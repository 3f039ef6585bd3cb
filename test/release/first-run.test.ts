import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { realpath, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { Client } from '../support/client.ts'
import { copyOf, environment } from './clone.ts'

const project = join(import.meta.dirname, '../..')
const run = promisify(execFile)

test('the first run of a clone says that it builds the sources, and the next one has nothing to say', {
  timeout: 120_000,
}, async () => {
  await using folder = await copyOf(
    ...['bin', 'migrations', 'release', 'src', 'ui', 'package.json', 'tsconfig.json'],
  )
  await symlink(join(project, 'node_modules'), folder.file('node_modules'))
  const version = () => run('sh', [folder.file('bin/gatehouse'), '--version'], { env: environment })

  const [first, second] = [await version(), await version()]

  expect(first.stderr).toBe(
    'The server and its web UI are built from the sources first, which takes some ten seconds …\n',
  )
  expect([second.stderr, second.stdout]).toEqual(['', first.stdout])
})

test('npm ci without scripts or development packages installs a server that npm start runs on the pinned Node', {
  timeout: 120_000,
}, async ({ skip }) => {
  skip(process.env['CI'] !== 'true', 'downloads packages: runs only where CI=true')
  await using folder = await copyOf(
    'bin',
    'migrations',
    'release',
    'src',
    'package.json',
    'package-lock.json',
  )
  const production = { ...environment, NODE_ENV: 'production' }
  await run('npm', ['ci', '--omit=dev', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'], {
    cwd: folder.path,
    env: production,
  })

  const server = spawn('npm', ['start'], {
    cwd: folder.path,
    env: { ...production, GATEHOUSE_LISTEN: '127.0.0.1:0' },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 60_000,
    killSignal: 'SIGKILL',
  })
  server.stdout.resume()
  const ended = once(server, 'close')
  let log = ''
  server.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text
  })
  const gaveUp = ended.then(() => Promise.reject(new Error(log)))
  gaveUp.catch(() => {})
  while (!log.includes('"started"')) await Promise.race([once(server.stderr, 'data'), gaveUp])
  const health = await new Client(/http:[^"]*/.exec(log)?.[0] ?? '').read('sys/health')
  server.kill('SIGTERM')
  await ended

  expect(health.status).toBe(200)
  expect(log).toContain('"stopping"')
  expect(await realpath(folder.file('node_modules/.bin/node'))).toMatch(
    /node_modules\/node-[\w-]+\/bin\/node$/,
  )
})
