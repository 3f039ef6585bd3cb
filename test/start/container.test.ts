import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { startTestServer } from '../support/start-server.ts'

const dockerfile = readFileSync(new URL('../../Dockerfile', import.meta.url), 'utf8')

/** The exit code of the container's health check for the server at `url`. */
function healthCheckOf(url: string): Promise<number> {
  const [, check = ''] = /^HEALTHCHECK .*\\\n\s*CMD (\[.*\])$/m.exec(dockerfile) ?? []
  const [program, ...args] = JSON.parse(check) as string[]
  expect(program).toBe('node')
  const aimed = args.map((word) => word.replace('http://127.0.0.1:8200/', `${url}/`))
  expect(aimed).not.toEqual(args)
  return new Promise((resolve) => {
    const child = execFile(process.execPath, aimed, () => resolve(child.exitCode ?? -1))
  })
}

test('the health check of the container passes while requests are served, and fails once the server is sealed', async () => {
  await using server = await startTestServer()

  const serving = await healthCheckOf(server.url)
  await server.root.call('PUT', 'sys/seal')
  const sealed = await healthCheckOf(server.url)

  expect([serving, sealed]).toEqual([0, 1])
})
