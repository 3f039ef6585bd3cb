import { Worker } from 'node:worker_threads'
import { Limiter } from '../../../lib/limiter.ts'
import type { ClientCertificate } from './client-certificate.ts'
import type { CertificateContent } from './self-signed.ts'

/**
 * A thread that makes keys and certificates (certificate-worker.ts), one after the other. It starts with the first
 * one and yields to all other work.
 */
class CertificateThread {
  readonly #turns = new Limiter(1)
  #worker: Worker | undefined

  async make(content: CertificateContent): Promise<ClientCertificate> {
    const leave = await this.#turns.enter()
    try {
      return await this.#makeNow(content)
    } finally {
      leave()
    }
  }

  async #makeNow(content: CertificateContent): Promise<ClientCertificate> {
    const worker = this.#worker ?? this.#start()
    this.#worker = worker
    const { promise, resolve, reject } = Promise.withResolvers<ClientCertificate>()
    const ended = () => reject(new Error('the thread that makes certificates ended'))
    worker.once('message', resolve).once('error', reject).once('exit', ended)
    try {
      worker.postMessage(content)
      return await promise
    } finally {
      worker.off('message', resolve).off('error', reject).off('exit', ended)
    }
  }

  #start(): Worker {
    const worker = new Worker(new URL('./certificate-worker.ts', import.meta.url), { name: 'certificates' })
    worker.unref()
    // a failure is that of the certificate; the next one starts another thread
    worker.on('error', () => {})
    worker.on('exit', () => {
      if (this.#worker === worker) this.#worker = undefined
    })
    return worker
  }
}

/** The servers of a process share it. */
const thread = new CertificateThread()

/** Makes an RSA key of 2048 bits and a certificate that it signs itself. */
export const makeOnThread = (content: CertificateContent): Promise<ClientCertificate> => thread.make(content)
