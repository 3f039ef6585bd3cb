import { closeIdleServer } from './borrowed-server.ts'

closeIdleServer()
