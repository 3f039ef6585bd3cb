import { keysForNextFile } from './rsa-keys.ts'

keysForNextFile()
