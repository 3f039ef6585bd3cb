import { answerFromThread } from '../../../lib/concurrency/thread-worker.ts'
import { makeSelfSigned } from './self-signed.ts'

/* A thread that makes RSA keys and their certificates, one at a time. make-certificate.ts starts it. */

const answers = { make: makeSelfSigned }

export type CertificateAnswers = typeof answers

answerFromThread(() => answers)
