// What places the calls (Communication Services) and what speaks in them (Azure AI services). Neither takes keys.
// The phone number is bought by hand: there is no resource type for it.
param communicationName string
param speechName string
param dataLocation string
param location string
param tags object

@description('The identity of the app, which places calls.')
param appPrincipalId string

// The one built-in role of Communication Services. It may also manage the resource: there is none that may only call, so
// it is given on this one resource and nowhere else.
var communicationAndEmailServiceOwner = '09976791-48a7-449e-bb21-39d1a415f350'
var cognitiveServicesUser = 'a97b65f3-24c7-4388-baec-2e87135dc908'

resource communication 'Microsoft.Communication/communicationServices@2025-09-01' = {
  name: communicationName
  location: 'global'
  tags: tags
  identity: { type: 'SystemAssigned' }
  properties: {
    dataLocation: dataLocation
    disableLocalAuth: true
  }
}

// Kind and custom subdomain as Call Automation's speech needs them: without the subdomain an identity cannot be used.
resource speech 'Microsoft.CognitiveServices/accounts@2025-06-01' = {
  name: speechName
  location: location
  tags: tags
  kind: 'CognitiveServices'
  sku: { name: 'S0' }
  properties: {
    customSubDomainName: speechName
    disableLocalAuth: true
    publicNetworkAccess: 'Enabled'
  }
}

resource appCalls 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(communication.id, appPrincipalId, communicationAndEmailServiceOwner)
  scope: communication
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', communicationAndEmailServiceOwner)
    principalId: appPrincipalId
    principalType: 'ServicePrincipal'
  }
}

// Without this role calls connect and stay silent (8565, 8567).
resource communicationSpeaks 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(speech.id, communication.id, cognitiveServicesUser)
  scope: speech
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', cognitiveServicesUser)
    principalId: communication.identity.principalId
    principalType: 'ServicePrincipal'
  }
}

output acsName string = communication.name
output acsEndpoint string = 'https://${communication.properties.hostName}'
output acsResourceId string = communication.properties.immutableResourceId
output speechEndpoint string = speech.properties.endpoint
