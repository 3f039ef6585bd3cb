import { closeIdleServers } from './borrowed-server.ts'

closeIdleServers()
