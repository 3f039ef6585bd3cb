import { writeFileSync } from 'node:fs'
import { type ServerProcess, startServerProcess } from '../simulators/server-process.ts'
import type { Authority } from '../test/support/certificates.ts'

/** A server with TLS, which was configured without. */
export async function startSecure(
  folder: string,
  authority: Authority,
  {
    configure,
    environment = {},
  }: { configure?(url: string, rootToken: string): Promise<void>; environment?: Record<string, string> } = {},
): Promise<ServerProcess> {
  const first = await startServerProcess({ folder })
  await configure?.(first.url, first.rootToken)
  await first.stop()
  const { cert, key } = authority.sign('bench')
  const [certFile, keyFile] = [`${folder}/cert.pem`, `${folder}/key.pem`]
  writeFileSync(certFile, cert)
  writeFileSync(keyFile, key)
  // only while the start waits for the server, which the clients below trust by its authority
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
  try {
    return await startServerProcess({
      folder,
      environment: { ...environment, GATEHOUSE_TLS_CERT_FILE: certFile, GATEHOUSE_TLS_KEY_FILE: keyFile },
    })
  } finally {
    delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
  }
}
