import type { LoginRequest } from '../../../core/tokens/acts/issue-login.ts'
import type { Reply } from '../../../http/resource/resource.ts'

/** Creates entity, alias and token of a login. */
export type IssueLogin = (request: LoginRequest) => Promise<Pick<Reply, 'auth' | 'warnings'>>
